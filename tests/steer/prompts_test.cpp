// Decisions collected for language models: what each action costs, what is asked, what is chosen.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "buffer/random_trace.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "steer/helm/helm_options.hpp"
#include "steer/llm/reply.hpp"
#include "steer/samples/prompt_collector.hpp"
#include "steer/samples/reply_choices.hpp"

#include "llm/fake_server.hpp"

namespace rudder::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t slots_of_prompts = 8;

steer::CollectOptions small_prompts(std::uint64_t seed) {
    steer::CollectOptions options;
    options.purpose = steer::CollectFor::llm;
    options.seed = seed;
    options.horizon = 8;
    options.interval = 4;
    options.sample = 1;
    return options;
}

buffer::Trace trace_of_prompts(std::uint64_t seed, std::uint64_t steps) {
    buffer::Trace trace;
    trace.push_back(random_trace(seed, {60, steps, 16}).host());
    return trace;
}

std::vector<steer::PromptLine> prompts_of(const buffer::Trace& trace, const std::string& policy,
                                          const steer::CollectOptions& options) {
    std::vector<std::vector<steer::PromptLine>> by_host(trace.size());
    steer::collect_prompts(
        trace, buffer::PolicySpec::parse(policy), {std::nullopt, slots_of_prompts}, options,
        [&](std::size_t host, const steer::PromptLine& line) { by_host[host].push_back(line); });
    std::vector<steer::PromptLine> lines;
    for (const auto& of_host : by_host)
        lines.insert(lines.end(), of_host.begin(), of_host.end());
    return lines;
}

/// Which action the run itself took.
std::size_t taken_of(const steer::PromptLine& line, const steer::CollectOptions& options) {
    std::vector<steer::Action> choices;
    for (const steer::PricedAction& one : line.actions)
        choices.push_back(one.action);
    return steer::chosen_by_chance(choices, {.seed = options.seed,
                                             .host = line.host,
                                             .question = line.step / options.interval,
                                             .step = line.step});
}

bool is_told(const buffer::PolicySpec& policy) {
    return policy.info().takes_decisions && !buffer::has_own_signal(policy);
}

/// Takes actions at their steps; from a step on, replaces every 16 steps where it is told to.
class ListedActions final : public buffer::BufferPilot {
public:
    ListedActions(std::map<std::uint64_t, steer::Action> actions, std::uint64_t last,
                  steer::Setting start)
        : actions_(std::move(actions)), last_(last), setting_(std::move(start)) {}

    void start(const buffer::PolicyFacts& /*facts*/, const buffer::IdBuffer& buffer) override {
        fetched_.push_back(buffer.accounts().fetched());
    }
    void published(std::uint64_t /*step*/, std::span<const buffer::RowKey> /*rows*/) override {}
    buffer::PilotOrder before(std::uint64_t step, const buffer::IdBuffer& /*buffer*/) override {
        buffer::PilotOrder order;
        const auto found = actions_.find(step);
        if (found == actions_.end()) {
            order.decision.replace =
                step > last_ && (step + 1) % 16 == 0 && is_told(setting_.policy);
            return order;
        }
        const steer::Action& action = found->second;
        if (action.kind == steer::ActionKind::replace) order.decision = {true, action.fraction};
        steer::KnobLimits limits;
        limits.slots = slots_of_prompts;
        setting_ = steer::with_changes(setting_, action.knobs, limits, "test");
        order.changes.push_back({.policy = setting_.policy,
                                 .capacity = static_cast<buffer::SlotId>(setting_.capacity)});
        return order;
    }
    void after(std::uint64_t /*step*/, const rudder::Rows& accounts) override {
        fetched_.push_back(accounts.fetched());
    }
    [[nodiscard]] std::uint64_t rows(std::uint64_t from, std::uint64_t steps) const {
        return fetched_[from + steps] - fetched_[from];
    }

private:
    std::map<std::uint64_t, steer::Action> actions_;
    std::uint64_t last_;
    steer::Setting setting_;
    std::vector<std::uint64_t> fetched_;  ///< before each step
};

TEST(Prompts, CostsAreThoseOfSeparateReplays) {
    std::set<std::string> tried;
    std::uint64_t apart = 0;
    for (const char* policy : {"scored", "window:4", "lru", "scored-faithful"}) {
        for (std::uint64_t seed = 0; seed < 2; ++seed) {
            const auto trace = trace_of_prompts(seed, 50);
            const auto options = small_prompts(seed);
            steer::Setting start;
            start.policy = buffer::PolicySpec::parse(policy);
            start.capacity = slots_of_prompts;
            std::map<std::uint64_t, steer::Action> taken;
            const auto lines = prompts_of(trace, policy, options);
            ASSERT_EQ(lines.size(), 13U) << "one per question";
            for (const steer::PromptLine& line : lines) {
                for (const steer::PricedAction& one : line.actions) {
                    auto actions = taken;
                    actions[line.step] = one.action;
                    ListedActions pilot(actions, line.step, start);
                    static_cast<void>(
                        buffer::replay_host(*trace[0], start.policy, slots_of_prompts, &pilot));
                    ASSERT_EQ(one.rows, pilot.rows(line.step, line.horizon))
                        << policy << " " << line.step << " " << to_json(one.action).dump();
                    apart += one.rows != line.actions[line.keep].rows ? 1U : 0U;
                    tried.insert(one.action.kind == steer::ActionKind::set
                                     ? std::string(steer::knob(one.action.knobs[0].id).name)
                                     : std::string(to_string(one.action.kind)));
                }
                taken[line.step] = line.actions[taken_of(line, options)].action;
            }
        }
    }
    EXPECT_THAT(tried, testing::IsSupersetOf({"keep", "replace", "policy", "window", "capacity",
                                              "decay", "distance"}));
    EXPECT_GT(apart, 500U) << "actions that cost what keep does prove nothing";
}

TEST(Prompts, HorizonsEndWithTheRun) {
    const auto lines = prompts_of(trace_of_prompts(3, 50), "window:4", small_prompts(3));
    ASSERT_EQ(lines.back().step, 48U);
    EXPECT_EQ(lines.back().horizon, 2U);
    EXPECT_EQ(lines.front().horizon, 8U);
    for (const steer::PromptLine& line : lines) {
        EXPECT_EQ(line.keep, 0U);
        EXPECT_EQ(line.actions[line.keep].action, steer::Action::keep());
    }
}

TEST(Prompts, EveryReplyIsReadByItsSchema) {
    for (const char* policy : {"scored", "window:16", "lfu"}) {
        const auto built_in = buffer::built_in_rule(buffer::PolicySpec::parse(policy));
        for (const steer::PromptLine& line :
             prompts_of(trace_of_prompts(5, 200), policy, small_prompts(5))) {
            steer::Observation seen;
            seen.setting = line.setting;
            seen.limits.slots = slots_of_prompts;
            seen.takes_decisions = is_told(line.setting.policy);
            const Json schema = steer::reply_schema(seen, built_in);
            std::set<std::string> texts;
            const Json written = steer::to_json(line, "g");
            for (std::size_t i = 0; i < line.actions.size(); ++i) {
                const std::string text = written.at("actions")[i].at("reply").dump();
                EXPECT_TRUE(texts.insert(text).second) << text << " twice";
                steer::Action read = steer::parse_reply(text, schema, seen, "test").action;
                read.reason = steer::Reason::none;
                EXPECT_EQ(read, line.actions[i].action) << text;
            }
        }
    }
}

TEST(Prompts, TellOfGoodAndBadDecisionsOfAllKinds) {
    std::string told;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        auto options = small_prompts(seed);
        options.interval = 16;  // else decisions leave the history before they are judged
        options.horizon = 2;
        const auto trace = trace_of_prompts(seed, 1600);
        for (const char* policy : {"scored", "window:8"}) {
            for (const steer::PromptLine& line : prompts_of(trace, policy, options))
                told += line.user;
        }
    }
    for (const char* words :
         {": keep (applied)", ": replace ", ": set policy ", ": set window ", ": set capacity ",
          ": set decay ", "; no worse than the alternative", "; worse than the alternative"})
        EXPECT_THAT(told, HasSubstr(words));
}

TEST(Prompts, ChanceIsKeyedAndTriesEveryKnob) {
    const auto trace = trace_of_prompts(2, 60);
    const auto line = prompts_of(trace, "scored", small_prompts(2)).front();
    std::vector<steer::Action> choices;
    for (const steer::PricedAction& one : line.actions)
        choices.push_back(one.action);
    std::map<std::size_t, int> drawn;
    int kept = 0;
    for (std::uint64_t question = 0; question < 4000; ++question) {
        const steer::ChanceKey key{.seed = 3, .host = 1, .question = question, .step = question};
        const std::size_t at = steer::chosen_by_chance(choices, key);
        EXPECT_EQ(at, steer::chosen_by_chance(choices, key));
        ++drawn[at];
        kept += at == 0 ? 1 : 0;
    }
    EXPECT_EQ(drawn.size(), choices.size()) << "every action at some time";
    EXPECT_GT(kept, 1200);
    EXPECT_LT(kept, 3600);
}

TEST(Prompts, AreTheSameOnAnyNumberOfThreads) {
    buffer::Trace trace;
    for (std::uint64_t seed = 0; seed < 3; ++seed)
        trace.push_back(random_trace(seed, {60, 100, 16}).host());
    const auto text = [&](int threads) {
        set_thread_count(threads);
        std::string all;
        for (const steer::PromptLine& line : prompts_of(trace, "window:8", small_prompts(4)))
            all += steer::to_json(line, "g").dump() + "\n";
        set_thread_count(0);
        return all;
    };
    const std::string alone = text(1);
    EXPECT_GT(alone.size(), 10000U);
    EXPECT_EQ(alone, text(4));
}

TEST(Prompts, AreDrawnByTheStride) {
    auto options = small_prompts(6);
    const auto trace = trace_of_prompts(6, 400);
    const auto all = prompts_of(trace, "scored", options);
    options.stride = 5;
    const auto some = prompts_of(trace, "scored", options);
    ASSERT_EQ(all.size(), 100U);
    EXPECT_GT(some.size(), 8U);
    EXPECT_LT(some.size(), 40U);
    for (const steer::PromptLine& line : some) {
        const auto same = std::ranges::find(all, line.step, &steer::PromptLine::step);
        ASSERT_NE(same, all.end());
        EXPECT_EQ(line.user, same->user) << "what is tried does not change what is done";
    }
}

TEST(Prompts, OfPoliciesThatNoModelSteersAreRefused) {
    const auto trace = trace_of_prompts(1, 20);
    for (const char* policy : {"none", "optimal", "scored,every:4", "scored-faithful,every:8"}) {
        try {
            static_cast<void>(prompts_of(trace, policy, small_prompts(1)));
            ADD_FAILURE() << policy;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_THAT(error.what(), HasSubstr("cannot be steered by a language model"));
        }
    }
}

/// A run whose steps stall 1, 2, 3, ... seconds.
class StallingRun final : public buffer::BufferPilot {
public:
    explicit StallingRun(steer::PromptCollector& inner) : inner_(inner) {}

    void start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) override {
        inner_.start(facts, buffer);
    }
    [[nodiscard]] std::uint64_t horizon() const override { return inner_.horizon(); }
    void published(std::uint64_t step, std::span<const buffer::RowKey> rows) override {
        inner_.published(step, rows);
    }
    void prepare(std::uint64_t step) override { inner_.prepare(step); }
    buffer::PilotOrder before(std::uint64_t step, const buffer::IdBuffer& buffer) override {
        orders.push_back(inner_.before(step, buffer));
        return orders.back();
    }
    void after(std::uint64_t step, const rudder::Rows& accounts) override {
        inner_.after(step, accounts);
        Seconds seconds;
        seconds.steps = 1;
        seconds.stall = static_cast<double>(step + 1);
        inner_.helm().timed(step, seconds);
        inner_.timed(step, seconds);
    }

    std::vector<buffer::PilotOrder> orders;  ///< by step

private:
    steer::PromptCollector& inner_;
};

TEST(Prompts, SecondsAreThoseOfTheRunWhereNothingDisturbedIt) {
    const auto trace = trace_of_prompts(8, 600);
    const auto options = small_prompts(8);
    const auto policy = buffer::PolicySpec::parse("window:8");
    steer::HelmOptions helm = steer::replay_helm_options(steer::AgentSpec::parse("llm"), *trace[0],
                                                         policy, slots_of_prompts);
    helm.facts.cost = steer::CostKind::seconds;
    steer::PromptCollector collector(std::move(helm), options);
    StallingRun run(collector);
    static_cast<void>(buffer::replay_host(*trace[0], policy, slots_of_prompts, &run));
    std::size_t timed = 0;
    std::size_t not_timed = 0;
    bool bulk = false;
    for (const steer::PromptLine& line : collector.take_prompts(true)) {
        bool quiet = true;
        double stall = 0;
        for (std::uint64_t s = line.step; s < line.step + line.horizon; ++s) {
            stall += static_cast<double>(s + 1);
            if (s > line.step)
                quiet = quiet && run.orders[s].changes.empty() && !run.orders[s].times;
        }
        const std::size_t taken = taken_of(line, options);
        for (std::size_t i = 0; i < line.actions.size(); ++i) {
            const steer::PricedAction& one = line.actions[i];
            if (i == taken && quiet) {
                ASSERT_TRUE(one.seconds) << line.step;
                EXPECT_DOUBLE_EQ(*one.seconds, stall);
                ++timed;
            } else {
                EXPECT_FALSE(one.seconds) << line.step;
                ++not_timed;
            }
            if (one.action.kind == steer::ActionKind::set &&
                one.action.knobs[0].id == steer::KnobId::bulk) {
                bulk = true;
                EXPECT_EQ(one.rows, line.actions[line.keep].rows) << "it acts on no id";
            }
        }
    }
    EXPECT_TRUE(bulk) << "where time counts, knobs on time are tried";
    EXPECT_GT(timed, 10U);
    EXPECT_GT(not_timed, timed);
}

/// The messages of each question by its step, of a model that answers by a list.
std::map<std::uint64_t, std::pair<std::string, std::string>> sent_to_model(
    const buffer::HostTrace& trace, const std::string& policy, bool guarded,
    const std::map<std::uint64_t, steer::Action>& answers) {
    Monitor monitor;
    std::map<std::uint64_t, std::pair<std::string, std::string>> sent;
    FakeServer server(openai([&](const FakeRequest& request) {
        const Json messages = Json::parse(request.body).at("messages");
        const std::string user = messages.at(1).at("content");
        const std::uint64_t step = std::stoull(user.substr(user.rfind("\nstep: ") + 7));
        Monitor::Lock lock(monitor);
        sent[step] = {messages.at(0).at("content"), user};
        const auto found = answers.find(step);
        const steer::Action action = found == answers.end() ? steer::Action::keep() : found->second;
        return FakeReply::of(200, openai_envelope(to_json(action).dump()));
    }));
    const auto spec = buffer::PolicySpec::parse(policy);
    steer::HelmOptions options =
        steer::replay_helm_options(steer::AgentSpec::parse("llm,interval:4,url:" + server.url()),
                                   trace, spec, slots_of_prompts);
    options.sample = 1;
    options.judged_at_once = 16;
    options.guarded = guarded;
    steer::Helm helm(std::move(options));
    static_cast<void>(buffer::replay_host(trace, spec, slots_of_prompts, &helm));
    return sent;
}

TEST(LlmAgent, IsSentTheBytesOfCollectedPrompts) {
    for (const char* policy : {"scored", "window:4"}) {
        for (const bool guarded : {false, true}) {
            const auto trace = trace_of_prompts(9, 120);
            auto options = small_prompts(9);
            options.guarded = guarded;
            const auto lines = prompts_of(trace, policy, options);
            std::map<std::uint64_t, steer::Action> answers;
            for (const steer::PromptLine& line : lines)
                answers[line.step] = line.actions[taken_of(line, options)].action;
            const auto sent = sent_to_model(*trace[0], policy, guarded, answers);
            // Steps before which the guard took something back are no lines.
            std::size_t compared = 0;
            for (const auto& [step, messages] : sent) {
                if (!answers.contains(step)) break;
                const auto line = std::ranges::find(lines, step, &steer::PromptLine::step);
                ASSERT_EQ(messages.first, line->system);
                ASSERT_EQ(messages.second, line->user) << policy << " " << guarded;
                ++compared;
            }
            EXPECT_GE(compared, guarded ? 5U : 30U) << policy;
        }
    }
}

}  // namespace
}  // namespace rudder::test
