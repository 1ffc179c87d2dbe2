// A language model behind a real socket steers live runs on simulated ranks: each bad reply costs
// one decision and nothing else, and one that always asks for harm costs no more than the account
// allows.
#include <algorithm>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "steer/llm/bad_replies.hpp"
#include "steer/llm/bad_texts.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t live_slots = 20;

const partition::PartitionedDataset& live_data() {
    static const TempDir folder;
    static const partition::PartitionedDataset parts =
        make_parts(folder.path(), {.vertices = 100, .degree = 6, .width = 6, .parts = 2});
    return parts;
}

train::TrainOptions live_options(const std::string& policy) {
    train::TrainOptions options = small_options();
    options.hidden = 4;
    options.batch = 5;
    options.eval_every = 0;
    options.policy = policy;
    options.buffer_rows = live_slots;
    options.steer.mode = steer::AgentMode::sync;
    return options;
}

/// What rank 0 is told of a run, and what it comes to.
struct LiveRun final : train::TrainObserver {
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        made.insert(made.end(), decisions.begin(), decisions.end());
    }
    std::vector<steer::DecisionRecord> made;
    train::TrainResult result;
};

/// On two simulated ranks, each a host with an agent of its own.
void train_live(const train::TrainOptions& options, LiveRun& live) {
    comm::SimulatedCluster machines({.ranks = 2, .seed = 3});
    machines.run([&](const comm::Communicator& comm) {
        train::Trainer trainer(comm, live_data(), options);
        train::TrainObserver other;
        const bool first = comm.rank() == 0;
        train::TrainResult result = trainer.run(first ? live : other);
        if (first) live.result = std::move(result);
    });
    expect_closed(live.result);
}

/// A model that says what a function says to the n-th question, counted from 0; the same question
/// asked again is no further one.
class LiveModel {
public:
    using Says = std::function<FakeReply(std::size_t question)>;

    LiveModel(bool speaks_ollama, Says says)
        : says_(std::move(says)),
          server_(speaks_ollama ? ollama([this](const FakeRequest& r) { return reply(r); })
                                : openai([this](const FakeRequest& r) { return reply(r); })) {}

    /// A run that it steers.
    void steer(train::TrainOptions options, const std::string& agent, LiveRun& live) {
        options.steer.agent = agent;
        options.steer.llm.url = server_.url();
        train_live(options, live);
    }
    /// How often that question was asked.
    [[nodiscard]] std::size_t times(std::size_t question) {
        const std::lock_guard lock(mutex_);
        return question < times_.size() ? times_[question] : 0;
    }
    [[nodiscard]] std::size_t questions() {
        const std::lock_guard lock(mutex_);
        return times_.size();
    }

private:
    FakeReply reply(const FakeRequest& request) {
        const std::string text = Json::parse(request.body).at("messages").at(1).at("content");
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(asked_, text);
        const auto number = static_cast<std::size_t>(found - asked_.begin());
        if (found == asked_.end()) {
            asked_.push_back(text);
            times_.push_back(0);
        }
        ++times_[number];
        return says_(number);
    }

    Says says_;
    std::mutex mutex_;
    std::vector<std::string> asked_;
    std::vector<std::size_t> times_;
    FakeServer server_;  ///< last: its tasks use the others
};

FakeReply said_live(bool in_ollama, const std::string& text) {
    return FakeReply::of(200, in_ollama ? ollama_envelope(text) : openai_envelope(text));
}

// ---- bad replies -------------------------------------------------------------------------------

class LiveReplies : public testing::Test {
protected:
    static std::uint64_t plain_digest() {
        static const std::uint64_t digest = [] {
            train::TrainOptions options = live_options("none");
            return train_alone(live_data(), options).result.digest;
        }();
        return digest;
    }

    /// A run in which one question has that reply, and all others good ones.
    static void expect_survived(const BadReply& bad, bool in_ollama) {
        SCOPED_TRACE(bad.name);
        constexpr std::size_t spoilt = 4;
        LiveModel model(in_ollama, [&](std::size_t question) {
            const std::string good = R"({"action": "replace", "fraction": 0.5})";
            return question == spoilt ? bad.reply : said_live(in_ollama, good);
        });
        LiveRun live;
        model.steer(live_options("scored"), "llm,interval:1" + bad.options, live);
        EXPECT_EQ(live.result.digest, plain_digest());
        // The HTTP library itself asks again where a connection that was kept is closed unanswered.
        const std::size_t again = bad.times == most_tries ? 1 : 0;
        EXPECT_GE(model.times(spoilt), bad.times);
        EXPECT_LE(model.times(spoilt), bad.times + again);

        const steer::HelmTotals& totals = live.result.agent.totals;
        EXPECT_EQ(totals.invalid, 1U);
        EXPECT_EQ(totals.late + totals.refused + totals.undone, 0U);
        EXPECT_EQ(totals.breaker_openings, 0U);
        EXPECT_EQ(totals.decisions, 2 * live.result.steps) << "all steps were asked about";
        EXPECT_EQ(totals.applied, totals.decisions - 1);
        EXPECT_EQ(model.questions(), totals.decisions - 1) << "both agents begin with the same";

        ASSERT_EQ(live.made.size(), totals.decisions);
        const auto failed = std::ranges::find(live.made, steer::DecisionStatus::invalid, status_of);
        ASSERT_NE(failed, live.made.end());
        EXPECT_THAT(failed->problem, HasSubstr(bad.problem));
        const auto later = [&](const steer::DecisionRecord& record) {
            return record.rank == failed->rank && record.step > failed->step &&
                   record.status == steer::DecisionStatus::applied;
        };
        EXPECT_GE(std::ranges::count_if(live.made, later), 3) << "it goes on";
    }
    static void expect_all_survived(const std::vector<BadReply>& all, bool in_ollama) {
        for (const BadReply& bad : all)
            expect_survived(bad, in_ollama);
    }

private:
    static steer::DecisionStatus status_of(const steer::DecisionRecord& record) {
        return record.status;
    }
};

TEST_F(LiveReplies, OfTheModelCostOneDecisionEach) {
    bool in_ollama = false;
    for (const BadText& bad : bad_texts(live_slots)) {
        in_ollama = !in_ollama;
        expect_survived({bad.name, said_live(in_ollama, bad.reply), bad.problem}, in_ollama);
    }
}

TEST_F(LiveReplies, OnTheWayCostOneDecisionEach) {
    expect_all_survived(bad_transports(), false);
}

TEST_F(LiveReplies, OfEitherServerCostOneDecisionEach) {
    expect_all_survived(bad_openai(), false);
    expect_all_survived(bad_ollama(), true);
}

// ---- harm --------------------------------------------------------------------------------------

/// What a server always says, in turn.
struct LiveHarmful {
    std::string name;
    std::vector<std::string> knobs;
};

std::vector<LiveHarmful> harmful_servers() {
    const std::string none = R"({"capacity": 0})";
    const std::string window = R"({"window": )";
    const std::string policy = R"({"policy": )";
    const std::vector<std::string> windows{window + "1}", window + "2}"};
    return {
        {"NoRoom", {none}},
        {"HardlyAny", {none, R"({"capacity": 1})"}},
        {"AllOrNothing", {none, R"({"capacity": 20})"}},
        {"OneStepOneRow", {R"({"capacity": 1, "window": 1})"}},
        {"ShortWindows", windows},
        {"Policies", {policy + R"("static-degree"})", policy + R"("lru"})", policy + R"("lfu"})"}},
        {"ThereAndBack", {policy + R"("static-degree"})", policy + R"("window:16"})"}},
        {"Mixture", {none, windows[0], policy + R"("lru"})", R"({"capacity": 20, "bulk": 1})"}},
    };
}

TEST(LiveHarm, AServerThatAlwaysAsksForItCostsNoMoreThanTheAccountAllows) {
    train::TrainOptions options = live_options("window:16");
    options.epochs = 40;
    LiveRun plain;
    train_live(options, plain);
    ASSERT_GE(plain.result.steps, 200U);
    const auto fetched = [](const LiveRun& run) {
        return static_cast<double>(run.result.rows.fetched());
    };
    const auto filling = static_cast<double>(plain.result.capacity);
    const double most = (1 + options.steer.guard) * fetched(plain) + filling;
    for (const LiveHarmful& harm : harmful_servers()) {
        SCOPED_TRACE(harm.name);
        for (const std::uint64_t interval : {1U, 16U}) {
            LiveModel model(true, [&](std::size_t question) {
                const std::string& knobs = harm.knobs[question / 2 % harm.knobs.size()];
                return said_live(true, R"({"action": "set", "knobs": )" + knobs + "}");
            });
            LiveRun live;
            model.steer(options, "llm,interval:" + std::to_string(interval), live);
            EXPECT_EQ(live.result.digest, plain.result.digest);
            const steer::HelmTotals& totals = live.result.agent.totals;
            EXPECT_EQ(totals.invalid + totals.late, 0U) << "every reply is one";
            EXPECT_GE(totals.applied + totals.refused, 4U);
            EXPECT_LE(fetched(live), most);
            EXPECT_NEAR(totals.built_in_rows, fetched(plain), 0.02 * fetched(plain) + filling);
            EXPECT_LE(totals.twin_rows, (1 + options.steer.guard) * totals.built_in_rows + filling);
        }
    }
}

}  // namespace
}  // namespace rudder::test
