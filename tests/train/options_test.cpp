// What training is asked for: defaults, the policy and the agent it comes to, and what is refused.
#include "rudder/train/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/evaluation/pace.hpp"
#include "train/option_table.hpp"

#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;
using train::TrainOptions;

TrainOptions options_with(auto change) {
    TrainOptions options;
    change(options);
    return options;
}

TEST(TrainingOptions, FanoutsByDefaultGrowTowardsTheSeeds) {
    EXPECT_EQ(train::default_fanout(1), (std::vector<std::int32_t>{25}));
    EXPECT_EQ(train::default_fanout(2), (std::vector<std::int32_t>{10, 25}));
    EXPECT_EQ(train::default_fanout(3), (std::vector<std::int32_t>{5, 10, 15}));
    for (int layers = 1; layers <= 64; ++layers) {
        const TrainOptions options = options_with([&](auto& o) {
            o.layers = layers;
            o.fanout = train::default_fanout(layers);
        });
        EXPECT_TRUE(std::ranges::is_sorted(options.fanout));
        EXPECT_NO_THROW(check_options(options)) << layers;
    }
}

TEST(TrainingOptions, RedrawsFollowTheSamplerAndLongOnesAreWarnedOf) {
    TrainOptions options;
    EXPECT_EQ(train::redraw_of(options, 100), 32U);
    EXPECT_EQ(train::redraw_of(options, 19), 19U) << "every vertex at least once an epoch";
    EXPECT_EQ(train::redraw_of(options, 0), 1U) << "an epoch without a step";
    EXPECT_EQ(train::redraw_advice(options, 1), "") << "nobody chose it";
    options.redraw = 32;
    EXPECT_EQ(train::redraw_of(options, 19), 32U) << "as it was chosen";
    EXPECT_EQ(train::redraw_advice(options, 256), "");
    EXPECT_THAT(train::redraw_advice(options, 255), HasSubstr("--redraw 32 in a run of 255 steps"));
    options.redraw = 1;
    EXPECT_EQ(train::redraw_of(options, 100), 1U);
    EXPECT_EQ(train::redraw_advice(options, 1), "");
    options = {};
    options.sampler = sample::Sampler::plain;
    EXPECT_EQ(train::redraw_of(options, 100), 1U);
}

TEST(TrainingOptions, SamplesAreSharedUnlessDrawnWithReplacement) {
    TrainOptions options;
    EXPECT_EQ(train::sampler_of(options), sample::Sampler::shared);
    options.with_replacement = true;
    EXPECT_EQ(train::sampler_of(options), sample::Sampler::plain);
    EXPECT_NO_THROW(check_options(options));
    options.sampler = sample::Sampler::shared;
    EXPECT_EQ(train::sampler_of(options), sample::Sampler::shared);
    EXPECT_THROW(check_options(options), Error);
}

/// Combinations that cannot be meant, and the option that is named.
struct WrongOptions {
    const char* option;
    const char* problem;
    void (*change)(TrainOptions&);
};

TEST(TrainingOptions, WhatCannotBeMeantIsRefusedByTheOptionsName) {
    const std::vector<WrongOptions> cases{
        {"fanout", "2 fan-outs for 3 layers", [](auto& o) { o.layers = 3; }},
        {"fanout", "1 fan-outs for 2 layers", [](auto& o) { o.fanout = {5}; }},
        {"fanout", "invalid fanout: '0'",
         [](auto& o) {
             o.fanout = {0, 5};
         }},
        {"fanout", "invalid fanout: '-2'",
         [](auto& o) {
             o.fanout = {-2, 5};
         }},
        {"hidden", "not a multiple of heads", [](auto& o) { o.model = "gat", o.hidden = 10; }},
        {"hidden", "not a multiple of heads", [](auto& o) { o.model = "gatv2", o.heads = 3; }},
        {"buffer-bytes", "more than one buffer size",
         [](auto& o) { o.buffer_rows = 1, o.buffer_bytes = 1; }},
        {"with-replacement", "without replacement",
         [](auto& o) { o.sampler = sample::Sampler::shared, o.with_replacement = true; }},
        {"redraw", "redraw without shared samples",
         [](auto& o) { o.sampler = sample::Sampler::plain, o.redraw = 4; }},
        {"redraw", "redraw without shared samples",
         [](auto& o) { o.with_replacement = true, o.redraw = 4; }},
        {"redraw", "invalid redraw: '0'",
         [](auto& o) { o.sampler = sample::Sampler::shared, o.redraw = 0; }},
        {"profile-epoch", "11 of 10 epochs", [](auto& o) { o.profile_epoch = 11; }},
        {"policy", "only on recorded traces", [](auto& o) { o.policy = "optimal"; }},
        {"model", "unknown model 'mlp'", [](auto& o) { o.model = "mlp"; }},
        {"layers", "invalid layers: '0'", [](auto& o) { o.layers = 0; }},
        {"dropout", "invalid dropout: '1'", [](auto& o) { o.dropout = 1; }},
        {"lr", "invalid lr: '0'", [](auto& o) { o.optimiser.learning_rate = 0; }},
        {"batch", "invalid batch: '0'", [](auto& o) { o.batch = 0; }},
        {"in-flight", "invalid in-flight: '0'", [](auto& o) { o.in_flight = 0; }},
        {"agent-deadline", "invalid agent-deadline: '0'", [](auto& o) { o.steer.deadline = 0; }},
        {"optimizer", "unknown optimizer 'adamx'", [](auto& o) { o.optimiser.name = "adamx"; }},
    };
    for (const WrongOptions& wrong : cases) {
        const Refusal refusal = refusal_of([&] { check_options(options_with(wrong.change)); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        EXPECT_EQ(refusal.where, wrong.option) << refusal.problem;
        EXPECT_THAT(refusal.problem, HasSubstr(wrong.problem));
    }
    for (const char* schedule : {"cosin", "step:0,0.5", "step:3", "linear:3"}) {
        EXPECT_EQ(refusal_of([&] {
                      check_options(options_with([&](auto& o) { o.lr_schedule = schedule; }));
                  }).kind,
                  ErrorKind::usage)
            << schedule;
    }
}

TEST(TrainingOptions, WhatIsUnusualAndPossibleIsTaken) {
    EXPECT_NO_THROW(check_options(options_with([](auto& o) { o.fanout = {-1, -1}; })));
    EXPECT_NO_THROW(check_options(options_with([](auto& o) { o.model = "gat", o.hidden = 8; })));
    EXPECT_NO_THROW(check_options(options_with([](auto& o) {
        o.model = "gat", o.hidden = 10, o.layers = 1, o.fanout = {5};
    }))) << "one layer has no hidden columns";
    EXPECT_NO_THROW(check_options(options_with([](auto& o) { o.buffer_rows = 0; })));
    EXPECT_NO_THROW(check_options(options_with([](auto& o) { o.epochs = 0; })));
    EXPECT_NO_THROW(check_options(options_with([](auto& o) { o.profile_epoch = 10; })));
}

TEST(TrainingOptions, TheWindowIsThatOfThePolicyOrTheOption) {
    const auto policy = [](const char* text, std::optional<std::uint64_t> window) {
        return train::policy_of(options_with([&](auto& o) { o.policy = text, o.window = window; }))
            .text();
    };
    EXPECT_EQ(policy("window", {}), "window:16");
    EXPECT_EQ(policy("window", 5), "window:5");
    EXPECT_EQ(policy("window:5", {}), "window:5");
    EXPECT_EQ(policy("window:5", 5), "window:5");
    EXPECT_EQ(policy("lru", {}), "lru");
    EXPECT_EQ(refusal_of([&] { (void)policy("window:5", 6); }).kind, ErrorKind::usage);
    const auto adapts = [](const char* text, std::optional<std::uint64_t> window) {
        return train::window_adapts(
            options_with([&](auto& o) { o.policy = text, o.window = window; }));
    };
    EXPECT_TRUE(adapts("window", {}));
    EXPECT_FALSE(adapts("window:16", {}) || adapts("window", 16) || adapts("lru", {}));
}

TEST(TrainingOptions, AsManyStepsAreSampledAheadAsAnybodyLooksAhead) {
    const auto ahead = [](const char* policy, std::optional<std::uint64_t> window) {
        return train::steps_ahead(
            options_with([&](auto& o) { o.policy = policy, o.window = window; }));
    };
    EXPECT_EQ(ahead("window", {}), 16U);
    EXPECT_EQ(ahead("lru", {}), 16U);
    EXPECT_EQ(ahead("window:40", {}), 40U);
    EXPECT_GE(ahead("window:4", {}), 16U);
    EXPECT_EQ(ahead("window", 3), 3U);
    EXPECT_EQ(ahead("none", 7), 7U);
}

TEST(TrainingOptions, SomeoneSteersWhereAnAgentCouldChangeAnything) {
    const auto steered = [](const char* policy, const char* agent) {
        return train::steered(
            options_with([&](auto& o) { o.policy = policy, o.steer.agent = agent; }));
    };
    EXPECT_TRUE(steered("scored", "every:4"));
    EXPECT_TRUE(steered("window", "bandit"));
    EXPECT_FALSE(steered("scored", "never"));
    EXPECT_FALSE(steered("none", "bandit"));
    EXPECT_FALSE(steered("window", "every:4")) << "it would never be asked";
    // Whoever is told that an agent has no effect has none that steers, and the other way round.
    for (const char* policy : {"none", "window", "lru", "scored"}) {
        for (const char* agent : {"never", "every:4", "always", "bandit"}) {
            const bool advised = !train::agent_advice(steer::AgentSpec::parse(agent),
                                                      buffer::PolicySpec::parse(policy))
                                      .empty();
            EXPECT_EQ(advised, !steered(policy, agent) && std::string_view(agent) != "never")
                << policy << agent;
        }
    }
}

TEST(TrainingOptions, EpochsAreEvaluatedAtTheirIntervalAndAtTheEnd) {
    for (std::uint32_t every = 0; every < 5; ++every) {
        const TrainOptions options =
            options_with([&](auto& o) { o.eval_every = every, o.epochs = 10; });
        std::vector<train::EpochRecord> epochs;
        for (std::uint32_t epoch = 0; epoch < 10; ++epoch) {
            epochs.emplace_back().epoch = epoch;
            const bool due = every != 0 && ((epoch + 1) % every == 0 || epoch == 9);
            EXPECT_EQ(train::evaluation_due(options, epochs), due) << every << ' ' << epoch;
            epochs.back().scores.evaluated = due;
        }
    }
}

}  // namespace
}  // namespace rudder::test
