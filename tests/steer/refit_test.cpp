// Classifiers that go on learning: ours, to what turned out, and the published way.
#include "steer/fit/refit.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "core/executor/monitor.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/steer/agent_spec.hpp"
#include "steer/fit/published_refit.hpp"
#include "steer/fit/tabular.hpp"

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

/// A model of the published features and label, that is sure of nothing.
steer::Model published_model(const std::string& kind, std::uint64_t seed) {
    steer::Model model = random_model(kind, seed, steer::FeatureSet::faithful);
    model.label = steer::LabelKind::paper;
    for (float& weight : model.arrays.back().values)  // of the last layer
        weight *= 0.001F;
    return model;
}

TEST(PublishedLabel, IsPointsGainedLessWhatFetchingTakesLonger) {
    const steer::ClassifierRecord before{.hit_rate = 40, .fetch = 3};
    const auto after = [&](double hit_rate, double fetch) {
        return steer::gained_as_published(before, {.hit_rate = hit_rate, .fetch = fetch});
    };
    EXPECT_TRUE(after(41, 3));
    EXPECT_TRUE(after(40, 2.5)) << "faster at the same rate";
    EXPECT_FALSE(after(41, 4)) << "a tie is no gain";
    EXPECT_FALSE(after(40, 3)) << "neither is no change";
    EXPECT_FALSE(after(45, 9));
    EXPECT_TRUE(after(35, -9));
    steer::Observation seen = observed(3, 50);
    seen.total = {.steps = 3, .needed = 1000, .hit = 336, .demand = 664};
    EXPECT_EQ(steer::classifier_record(seen).hit_rate, 34) << "since the start, whole per cent";
    EXPECT_EQ(steer::classifier_record(seen).fetch, 50) << "rows, where no time is known";
    seen.seconds.steps = 2;
    seen.seconds.fetch = 0.5;
    EXPECT_EQ(steer::classifier_record(seen).fetch, 0.25);
}

TEST(PublishedRefit, FitsFiftyChangesToTheFeaturesThatFollowedAndForgetsThem) {
    const steer::Model model = published_model("mlp", 3);
    std::vector<std::size_t> sizes;
    const auto body = [&](const steer::Model& now, std::span<const float> rows,
                          std::span<const std::uint8_t> labels) {
        sizes.push_back(labels.size());
        EXPECT_EQ(rows.size(), labels.size());
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const auto step = static_cast<std::size_t>(rows[i]);
            // The rate rises before every third record, whose own features are the sample's.
            EXPECT_EQ(labels[i], step % 3 == 0 ? 1 : 0) << step;
            EXPECT_EQ(step, 50 * (sizes.size() - 1) + i + 1) << "the first has none before it";
        }
        return now;
    };
    steer::PublishedRefit refit(true, body);
    double rate = 10;
    for (std::size_t step = 0; step < 151; ++step) {
        rate += step % 3 == 0 ? 1 : 0;
        refit.add({.hit_rate = rate, .fetch = 5}, std::vector<float>{static_cast<float>(step)});
        EXPECT_EQ(refit.update(model).has_value(), step % 50 == 0 && step != 0) << step;
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{50, 50, 50}));
    EXPECT_EQ(refit.taken(), 3U);
}

TEST(PublishedRefit, OfAnMlpChangesTheLastLayerAlone) {
    const steer::Model model = published_model("mlp", 3);
    const RandomStream stream({.purpose = Purpose::test, .seed = 4});
    Draws draws(stream, 0);
    const auto rows = drawn(draws, 50 * model.mean.size(), 2);
    std::vector<std::uint8_t> labels;
    std::vector<float> inputs;
    const auto classifier = steer::make_classifier(model, "test");
    for (std::size_t i = 0; i < 50; ++i) {
        labels.push_back(i % 2 == 0 ? 0 : 1);
        static_cast<void>(classifier->probability(
            std::span(rows).subspan(i * model.mean.size(), model.mean.size())));
        std::ranges::copy(classifier->last_input(), std::back_inserter(inputs));
    }
    const steer::Model made = steer::refit_as_published(model, rows, labels);
    ASSERT_EQ(made.arrays.size(), model.arrays.size());
    for (std::size_t i = 0; i < made.arrays.size(); ++i) {
        if (made.arrays[i].name != "last") {
            EXPECT_EQ(made.arrays[i].values, model.arrays[i].values) << made.arrays[i].name;
            continue;
        }
        EXPECT_NE(made.arrays[i].values, model.arrays[i].values);
        EXPECT_EQ(made.arrays[i].values,
                  steer::refit_last_layer(inputs, labels, model.arrays[i].values, 3, 1e-4));
    }
}

TEST(PublishedRefit, OfATabNetFitsAllOfItAnew) {
    const steer::Model model = published_model("tabnet", 3);
    const RandomStream stream({.purpose = Purpose::test, .seed = 4});
    Draws draws(stream, 0);
    const std::size_t columns = model.mean.size();
    const auto rows = drawn(draws, 50 * columns, 2);
    std::vector<std::uint8_t> labels;
    for (std::size_t i = 0; i < 50; ++i)
        labels.push_back(rows[i * columns] > 0 ? 1 : 0);
    const steer::Model made = steer::refit_as_published(model, rows, labels);
    const std::vector<float> weight(50, 1);
    const auto fitted = steer::fit_tabnet({columns, rows, labels, weight}, {}, 42);
    ASSERT_EQ(made.arrays.size(), fitted.size());
    for (std::size_t i = 0; i < fitted.size(); ++i) {
        EXPECT_EQ(made.arrays[i].name, fitted[i].name);
        EXPECT_EQ(made.arrays[i].values, fitted[i].values) << fitted[i].name;
    }
    const auto classifier = steer::make_classifier(made, "test");
    std::size_t right = 0;
    for (std::size_t i = 0; i < 50; ++i) {
        const double p = classifier->probability(std::span(rows).subspan(i * columns, columns));
        right += (p >= 0.5) == (labels[i] != 0) ? 1U : 0U;
    }
    EXPECT_GT(right, 35U) << "it has learned the rows it was given";
}

/// What an agent says and learns over 120 steps, the judge being always or never content.
struct Told {
    std::vector<std::string> notes;
    std::string learned;
};
Told told_by(const std::string& text, bool content) {
    steer::AgentFacts facts;
    facts.refit = true;
    const auto agent = steer::make_agent(steer::AgentSpec::parse(text), facts);
    std::vector<steer::PastDecision> history;
    Told told;
    for (std::uint64_t step = 0; step < 120; ++step) {
        steer::Observation seen = observed(step, 40 + step % 7);
        seen.history = history;
        const steer::Answer answer = agent->decide(seen);
        told.notes.push_back(answer.note);
        history = {{.step = step, .action = answer.action, .status = "applied"}};
        history[0].correct = content;
    }
    told.learned = agent->learned();
    return told;
}

TEST(ClassifierAgents, LearnAsPublishedWithAPublishedModelWhateverTheJudgeSays) {
    const TempDir folder;
    const auto path = (folder / "mlp").string();
    steer::write_model(published_model("mlp", 3), path, false);
    const Told content = told_by("mlp:" + path + ",faithful", true);
    EXPECT_EQ(content.learned, "fitted again as published 2 times");
    EXPECT_EQ(content.notes, told_by("mlp:" + path, false).notes);
    const Told fixed = told_by("mlp:" + path + ",fixed", true);
    EXPECT_EQ(fixed.learned, "");
    EXPECT_NE(content.notes, fixed.notes);
    EXPECT_TRUE(std::equal(fixed.notes.begin(), fixed.notes.begin() + 50, content.notes.begin()))
        << "before the first fit they answer alike";
    // Ours asks the judge.
    const auto ours = (folder / "ours").string();
    steer::write_model(random_model("mlp", 3), ours, false);
    EXPECT_THAT(told_by("mlp:" + ours, true).learned, testing::HasSubstr("last layer"));
    // And a model of another label is no published one.
    steer::Model other = published_model("mlp", 3);
    other.label = steer::LabelKind::counterfactual;
    steer::write_model(other, path, true);
    EXPECT_THROW(static_cast<void>(told_by("mlp:" + path + ",faithful", true)), Error);
    EXPECT_THAT(told_by("mlp:" + path, true).learned, testing::HasSubstr("last layer"));
}

TEST(PublishedRefit, NoAnswerWaitsForIt) {
    Monitor monitor;
    bool go_on = false;
    const steer::Model model = published_model("mlp", 3);
    const auto body = [&](const steer::Model& now, auto, auto) {
        Monitor::Lock lock(monitor);
        monitor.wait(lock, "the test", [&] { return go_on; });
        return now;
    };
    steer::PublishedRefit refit(false, body);
    for (std::size_t i = 0; i < 60; ++i) {
        refit.add({.hit_rate = 1, .fetch = 1}, std::vector<float>(model.mean.size(), 0.5F));
        EXPECT_FALSE(refit.update(model)) << "not begun, or under way";
    }
    {
        Monitor::Lock lock(monitor);
        go_on = true;
        monitor.notify_all();
    }
    while (!refit.update(model))
        Executor::current().sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(refit.taken(), 1U);
}

}  // namespace
}  // namespace rudder::test
