// Classifiers that go on learning, to what turned out.
#include "steer/fit/refit.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "core/executor/monitor.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/steer/agent_spec.hpp"

#include "hand_made.hpp"
#include "random_models.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

TEST(Refit, IsTurnedDownWhereItAnswersWorse) {
    const RandomStream stream({.purpose = Purpose::test, .seed = 9});
    const auto feed = [&](steer::LastLayerRefit& refit) {
        Draws draws(stream, 2);
        for (std::size_t i = 0; i < 150; ++i) {
            const std::vector<float> input{static_cast<float>(draws.normal()), 1.0F};
            refit.add(input, input[0] > 0);
        }
    };
    const std::vector<float> right{1, 0, 0};
    const std::vector<float> wrong{-1, 0, 0};
    steer::LastLayerRefit worse(true, [&](auto, auto, auto, auto, auto) { return wrong; });
    feed(worse);
    std::vector<float> weights = right;
    worse.update(weights);
    EXPECT_EQ(worse.turned_down(), 0U) << "only begun";
    worse.update(weights);
    EXPECT_EQ(weights, right);
    EXPECT_EQ(worse.turned_down(), 1U);
    steer::LastLayerRefit better(
        true, [&](auto inputs, auto labels, auto, std::uint32_t epochs, double rate) {
            EXPECT_EQ(labels.size(), 100U) << "the newest are held out";
            EXPECT_EQ(inputs.size(), 200U);
            EXPECT_EQ(epochs, 3U);
            EXPECT_DOUBLE_EQ(rate, 1e-4);
            return right;
        });
    feed(better);
    weights = wrong;
    better.update(weights);
    EXPECT_EQ(weights, wrong) << "only begun";
    better.update(weights);
    EXPECT_EQ(weights, right);
    better.update(weights);
    EXPECT_EQ(better.taken(), 1U) << "nothing new since";
}

TEST(Refit, IsMadeInReplaysThatRunSideBySide) {
    // Nobody may wait in such a loop.
    std::vector<std::uint64_t> taken(4);
    parallel_chunks(taken.size(), 1, [&](const Chunk& chunk) {
        steer::LastLayerRefit refit(true, [](auto, auto, auto weights, auto, auto) {
            return std::vector<float>(weights.begin(), weights.end());
        });
        std::vector<float> weights{1, 0, 0};
        for (std::size_t i = 0; i < 200; ++i) {
            refit.add(std::vector<float>{1.0F, 1.0F}, true);
            refit.update(weights);
        }
        taken[chunk.index] = refit.taken();
    });
    EXPECT_THAT(taken, testing::Each(2U));
}

TEST(Refit, NoAnswerWaitsForIt) {
    Monitor monitor;
    bool go_on = false;
    const auto body = [&](auto, auto, auto, auto, auto) {
        Monitor::Lock lock(monitor);
        monitor.wait(lock, "the test", [&] { return go_on; });
        return std::vector<float>{1, 0, 0};
    };
    steer::LastLayerRefit refit(false, body);
    for (std::size_t i = 0; i < 150; ++i) {
        const float x = i % 2 == 0 ? 1.0F : -1.0F;
        refit.add(std::vector<float>{x, 1.0F}, x > 0);
    }
    std::vector<float> weights{-1, 0, 0};
    for (int i = 0; i < 10; ++i)
        refit.update(weights);  // begins one, then finds it under way
    EXPECT_EQ(refit.taken(), 0U);
    {
        Monitor::Lock lock(monitor);
        go_on = true;
        monitor.notify_all();
    }
    while (refit.taken() == 0) {
        Executor::current().sleep_for(std::chrono::milliseconds(1));
        refit.update(weights);
    }
    EXPECT_EQ(weights[0], 1);
}

TEST(ClassifierAgents, ATieIsNoReasonToReplace) {
    const TempDir folder;
    const auto path = (folder / "mlp").string();
    steer::write_model(random_model("mlp", 3), path, false);
    const auto notes = [&](int threshold, bool correct, bool tied) {
        steer::AgentFacts facts;
        facts.refit = true;
        facts.repeatable = true;
        const auto agent = steer::make_agent(
            steer::AgentSpec::parse(fmt::format("mlp:{},threshold:{}", path, threshold)), facts);
        std::vector<steer::PastDecision> history;
        std::vector<std::string> said;
        for (std::uint64_t step = 0; step < 2000; ++step) {
            steer::Observation seen = observed(step, 40);
            seen.history = history;
            const steer::Answer answer = agent->decide(seen);
            said.push_back(answer.note);
            history = {{.step = step, .action = answer.action, .status = "applied"}};
            history[0].correct = correct;
            history[0].tied = tied;
        }
        return said;
    };
    // All answers are to replace: one that ties teaches what one that was worse does.
    const auto ties = notes(0, true, true);
    EXPECT_EQ(ties, notes(0, false, false));
    EXPECT_NE(ties, notes(0, true, false));
    // None is: one that ties was right.
    const auto kept = notes(1, true, true);
    EXPECT_EQ(kept, notes(1, true, false));
    EXPECT_NE(kept, notes(1, false, false));
}

TEST(ClassifierAgents, LearnFromWhatTurnedOut) {
    const TempDir folder;
    const auto path = (folder / "mlp").string();
    steer::write_model(random_model("mlp", 3), path, false);
    steer::AgentFacts facts;
    facts.refit = true;
    const auto agent = steer::make_agent(steer::AgentSpec::parse("mlp:" + path), facts);
    std::vector<steer::PastDecision> history;
    for (std::uint64_t step = 0; step < 200; ++step) {
        steer::Observation seen = observed(step, 40);
        seen.history = history;
        const steer::Answer answer = agent->decide(seen);
        // Replacing was right in every step, whatever was said.
        history = {{.step = step, .action = answer.action, .status = "applied"}};
        history[0].correct = answer.action.kind == steer::ActionKind::replace;
    }
    // At 100 and 150 of 199 samples; both classes are not there, so the guard has nothing against.
    EXPECT_EQ(agent->learned(), "last layer fitted again 2 times, 0 times turned down");
}

}  // namespace
}  // namespace rudder::test
