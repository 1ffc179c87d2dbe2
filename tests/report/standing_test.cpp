// How a run stands: as its steps tell it, as JSON, and as its folder does.
#include "report/standing.hpp"

#include <cmath>
#include <fstream>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/json.hpp"
#include "core/step_time.hpp"
#include "report/json_lines_sink.hpp"
#include "report/run_follower.hpp"
#include "report/run_watch.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

#include "frames.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using report::RunWatch;
using report::Standing;
using testing::HasSubstr;

train::StepRecord a_step(std::uint64_t step, std::uint32_t rank, double own = 0.08) {
    train::StepRecord record;
    record.step = step;
    record.epoch = static_cast<std::uint32_t>(step / 100);
    record.rank = rank;
    record.loss = static_cast<float>(1000 - step);
    record.seconds.step = 0.1;
    record.seconds.stall = 0.02;
    record.seconds.wait_rows = 0.02;
    record.seconds.compute = own - 0.02;
    record.seconds.wait_gradients = 0.01;
    record.seconds.wait_ranks = 0.005;
    record.seconds.wait_agent = 0.002;
    record.seconds.rest = 0.003;
    record.rows = {.needed = 10, .local = 4, .hit = 3, .demand = 3};
    record.bytes.features = 1000;
    record.buffered = true;
    record.knobs.policy = buffer::PolicySpec::parse("window:16");
    return record;
}

TEST(RunWatch, ShowsTheLastSecondsAndTheTimeLeft) {
    RunWatch watch({.epochs = 2, .ranks = 1});
    for (std::uint64_t i = 0; i < 100; ++i)
        watch.step(a_step(i, 0), 200);
    const Standing s = watch.standing();
    EXPECT_EQ(s.step, 100U);
    EXPECT_EQ(s.steps, 200U);
    EXPECT_EQ(s.epoch, 1U);
    ASSERT_TRUE(s.seconds_left);
    EXPECT_NEAR(*s.seconds_left, 10, 1e-6);
    EXPECT_NEAR(s.steps_per_second, 10, 1e-6);
    EXPECT_NEAR(s.bytes_per_second, 10'000, 1e-3);
    EXPECT_NEAR(s.wait_rows, 0.2, 1e-9);
    EXPECT_EQ(s.policy, "window:16");
    EXPECT_LE(s.rows.needed, 10U * 43) << "four seconds and a little at most";
    EXPECT_GE(s.losses.size(), 48U);
    EXPECT_LE(s.losses.size(), 96U);
    EXPECT_TRUE(std::ranges::is_sorted(s.losses, std::greater<>{}));
    // Who knows the clock knows what lies between the steps.
    EXPECT_NEAR(*watch.standing(30.0).seconds_left, 30, 1e-6);
    // Evaluation takes its time, too.
    watch.epoch(0, 0.5, 10);
    EXPECT_NEAR(*watch.standing().seconds_left, 20, 1e-6);
    EXPECT_EQ(watch.standing().valid_epoch, 1U);
}

TEST(RunWatch, RanksAreKnownOnceTheirRecordsCame) {
    RunWatch watch({.epochs = 1, .steps = 10, .ranks = 3});
    watch.step(a_step(0, 0), 10);
    ASSERT_EQ(watch.standing().by_rank.size(), 1U);
    std::vector<train::StepRecord> records{a_step(0, 0), a_step(0, 1), a_step(0, 2, 0.1)};
    watch.records(records);
    const Standing s = watch.standing();
    ASSERT_EQ(s.by_rank.size(), 3U);
    EXPECT_EQ(s.step, 1U) << "rank 0's step was told when it was done";
    EXPECT_EQ(s.rows.needed, 30U);
    EXPECT_NEAR(s.by_rank[2].own_seconds(), 0.1, 1e-9);
    EXPECT_NEAR(s.by_rank[1].own_seconds(), 0.08, 1e-9);
    EXPECT_NEAR(s.by_rank[0].hit_rate, 0.5, 1e-9);
    EXPECT_NEAR(s.bytes_per_second, 30'000, 1e-3);
}

TEST(RunWatch, PartsOfAStepAreToldOfEachRankAndAddUp) {
    RunWatch watch({.epochs = 1, .steps = 10, .ranks = 2});
    train::StepRecord divided = a_step(0, 0);
    divided.seconds = {.step = 0.1,
                       .stall = 0.01,
                       .compute = 0.04,
                       .reduce = 0.045,
                       .wait_rows = 0.02,
                       .wait_gradients = 0.01,
                       .wait_ranks = 0.02,
                       .wait_agent = 0.005,
                       .rest = 0.005};
    // As earlier versions told it: neither divided nor with the rest.
    train::StepRecord earlier = a_step(0, 1);
    earlier.seconds = {.step = 0.1, .stall = 0.03, .compute = 0.04, .reduce = 0.02};
    watch.records(std::vector{divided, earlier});
    const Standing s = watch.standing();
    ASSERT_EQ(s.by_rank.size(), 2U);
    for (const report::RankPace& rank : s.by_rank) {
        const Seconds parts = rank.parts();
        double sum = 0;
        for (const StepPart& part : step_parts)
            sum += parts.*part.seconds;
        EXPECT_NEAR(sum, rank.step_seconds, 1e-12);
    }
    EXPECT_NEAR(s.by_rank[0].stall_seconds, 0.01, 1e-12) << "keeps its meaning";
    EXPECT_NEAR(s.by_rank[0].wait_rows_seconds, 0.02, 1e-12);
    EXPECT_NEAR(s.by_rank[0].wait_gradients_seconds, 0.01, 1e-12);
    EXPECT_NEAR(s.by_rank[0].wait_ranks_seconds, 0.02, 1e-12);
    EXPECT_NEAR(s.by_rank[0].wait_agent_seconds, 0.005, 1e-12);
    EXPECT_NEAR(s.by_rank[0].rest_seconds, 0.005, 1e-12);
    EXPECT_NEAR(s.by_rank[1].wait_rows_seconds, 0.03, 1e-12);
    EXPECT_NEAR(s.by_rank[1].wait_gradients_seconds, 0.02, 1e-12);
    EXPECT_NEAR(s.by_rank[1].rest_seconds, 0.01, 1e-12);
    EXPECT_NEAR(s.wait_rows, 0.25, 1e-12);
    // What an earlier server answers lacks them: they are made of what it has.
    Json answer = to_json(s);
    for (Json& rank : answer.at("by_rank")) {
        for (const char* part : {"rows", "gradients", "ranks", "agent"})
            EXPECT_EQ(rank.erase(fmt::format("wait_{}_seconds", part)), 1U);
        EXPECT_EQ(rank.erase("rest_seconds"), 1U);
    }
    const Seconds parts = report::standing_from_json(answer, "server").by_rank[1].parts();
    EXPECT_NEAR(parts.wait_rows, 0.03, 1e-12);
    EXPECT_NEAR(parts.rest, 0.03, 1e-12);
}

steer::DecisionRecord a_decision(const steer::Action& action, std::uint64_t step) {
    steer::DecisionRecord record;
    record.step = step;
    record.agent = "bandit";
    record.action = action;
    return record;
}

TEST(RunWatch, TheLastChangeThatWasMadeStays) {
    RunWatch watch({});
    const auto keep = steer::Action::keep();
    const auto change =
        steer::Action::set({{steer::KnobId::window, 32.0}}, steer::Reason::shadow_better);
    std::vector<steer::DecisionRecord> decisions{a_decision(keep, 1), a_decision(change, 2),
                                                 a_decision(keep, 3), a_decision(change, 4),
                                                 a_decision(change, 5)};
    decisions[3].status = steer::DecisionStatus::refused;
    decisions[4].status = steer::DecisionStatus::undone;
    decisions[1].outcome = {.steps = 16, .rows = 90, .alternative = 100};
    decisions[1].alternative = keep;
    watch.decisions(decisions);
    const Standing s = watch.standing();
    EXPECT_EQ(s.decisions, 5U);
    EXPECT_EQ(s.applied, 1U);
    ASSERT_TRUE(s.decision);
    EXPECT_EQ(report::decision_text(*s.decision),
              "bandit: window 32 (shadow_better) at step 2: 10.0 % fewer rows than otherwise");
    EXPECT_NEAR(*s.decision->fewer_rows, 0.1, 1e-9);
    watch.decisions(std::vector{a_decision(keep, 6)});
    EXPECT_EQ(watch.standing().decision->step, 2U);
}

TEST(Standing, EffectsInAFewWords) {
    auto record = a_decision(steer::Action::replace(steer::Reason::none, 0.5), 4);
    EXPECT_EQ(report::decision_text(report::in_words(record)),
              "bandit: replace 50 % at step 4: effect not known yet");
    record.outcome = {.steps = 4, .rows = 10, .alternative = 10, .hit_rate = 0.25};
    EXPECT_THAT(report::in_words(record).effect, "hit rate 25 % since");
    record.alternative = steer::Action::keep();
    EXPECT_THAT(report::in_words(record).effect, "as many rows as otherwise");
    EXPECT_FALSE(report::was_applied(a_decision(steer::Action::keep(), 1)));
}

TEST(Standing, IsReadAsItWasWritten) {
    RunWatch watch({.name = "a \xff name", .epochs = 2, .steps = 200, .ranks = 2});
    watch.records(std::vector{a_step(0, 0), a_step(0, 1)});
    watch.decisions(std::vector{a_decision(steer::Action::replace(steer::Reason::none), 3)});
    Standing s = watch.standing();
    s.loss = std::nan("");
    const Json json = to_json(s);
    EXPECT_EQ(json.at("loss"), nullptr);
    EXPECT_EQ(json.at("by_rank").size(), 2U);
    EXPECT_EQ(to_json(report::standing_from_json(json, "here")), json);
    Json bad = json;
    bad["step"] = "many";
    EXPECT_THROW(static_cast<void>(report::standing_from_json(bad, "here")), Error);
    bad = json;
    bad["losses"] = Json::array({"x"});
    EXPECT_THROW(static_cast<void>(report::standing_from_json(bad, "here")), Error);
    EXPECT_THROW(static_cast<void>(report::standing_from_json(Json::array(), "here")), Error);
}

// ---- folders -----------------------------------------------------------------------------------

class Follower : public testing::Test {
protected:
    void card(const std::string& state, const std::string& started = "2020-11-18T05:00:00Z") {
        const Json json{{"schema", 1},     {"state", state},   {"started", started},
                        {"epochs", 4},     {"ranks", 2},       {"steps_per_epoch", 50},
                        {"policy", "lru"}, {"agent", "bandit"}};
        std::ofstream(folder_ / "run.json") << json.dump();
    }
    /// As whoever writes a run does.
    class Lock {
    public:
        explicit Lock(const std::filesystem::path& file)
            : fd_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
            EXPECT_EQ(::flock(fd_, LOCK_EX | LOCK_NB), 0);
        }
        ~Lock() { ::close(fd_); }
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;

    private:
        int fd_;
    };
    TempDir folder_;
};

TEST_F(Follower, SeesTheLockAndWhatComesSince) {
    card("running");
    report::JsonLinesSink sink(folder_.path(), 0, {});
    sink.steps(std::vector{a_step(0, 0), a_step(0, 1)});
    auto lock = std::make_unique<Lock>(folder_ / "metrics.jsonl");
    report::RunFollower follower(folder_.path());
    Standing s = follower.look();
    EXPECT_EQ(s.state, "running");
    EXPECT_EQ(s.step, 1U);
    EXPECT_EQ(s.steps, 200U);
    EXPECT_EQ(s.epochs, 4U);
    RunWatch told({.ranks = 2});
    told.records(std::vector{a_step(0, 0), a_step(0, 1)});
    EXPECT_EQ(to_json(s).at("by_rank"), to_json(told.standing()).at("by_rank"))
        << "the file says the same as the run";
    EXPECT_EQ(s.policy, "window:16");
    EXPECT_EQ(s.agent, "bandit");
    EXPECT_NEAR(*s.loss, 1000, 1e-9);
    EXPECT_GT(*s.seconds_left, 0) << "by the time since its start";
    sink.steps(std::vector{a_step(1, 0), a_step(1, 1)});
    sink.epoch(some_epoch(0, 2));
    auto decision = a_decision(steer::Action::replace(steer::Reason::none), 1);
    sink.decisions(std::vector{a_decision(steer::Action::keep(), 0), decision});
    s = follower.look();
    EXPECT_EQ(s.step, 2U);
    EXPECT_NEAR(s.valid.value_or(0), 0.25, 1e-9);
    EXPECT_EQ(s.decisions, 2U);
    ASSERT_TRUE(s.decision);
    EXPECT_EQ(s.decision->action, "replace");
    EXPECT_EQ(follower.look().decisions, 2U) << "nothing is counted twice";
    lock.reset();
    EXPECT_EQ(follower.look().state, "killed");
    card("finished");
    EXPECT_EQ(follower.look().state, "finished");
}

TEST_F(Follower, LinesThatAreCutOrDamagedAreLeftOut) {
    card("interrupted");
    report::JsonLinesSink sink(folder_.path(), 0, {});
    sink.steps(std::vector{a_step(0, 0)});
    {
        std::ofstream metrics(folder_ / "metrics.jsonl", std::ios::app);
        metrics << "{\"step\": nonsense}\n[]\n{\"step\": 7, \"ra";
    }
    std::ofstream(folder_ / "decisions.jsonl") << "{}\n{\"step\":";
    std::ofstream(folder_ / "epochs.jsonl") << "[1]\nno\n";
    report::RunFollower follower(folder_.path());
    const Standing s = follower.look();
    EXPECT_EQ(s.state, "interrupted");
    EXPECT_EQ(s.step, 1U);
    EXPECT_EQ(s.decisions, 0U);
}

TEST_F(Follower, ARunThatGoesOnBeginsAnew) {
    card("running");
    report::JsonLinesSink sink(folder_.path(), 0, {});
    sink.steps(std::vector{a_step(0, 0), a_step(1, 0), a_step(2, 0)});
    report::RunFollower follower(folder_.path());
    EXPECT_EQ(follower.look().step, 3U);
    std::string all = read_text(folder_ / "metrics.jsonl", 1U << 20);
    std::ofstream(folder_ / "metrics.jsonl", std::ios::trunc) << all.substr(0, all.find('\n') + 1);
    EXPECT_EQ(follower.look().step, 1U) << "it was cut back to a checkpoint";
    card("running", "2020-11-18T06:00:00Z");
    EXPECT_EQ(follower.look().step, 1U);
    EXPECT_THROW(report::RunFollower(folder_ / "nowhere"), Error);
}

}  // namespace
}  // namespace rudder::test
