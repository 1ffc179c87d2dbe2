// Features, samples and their labels, scores, fitting, and agents that answer by a model; what they
// learn while they run is in refit_test.cpp.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "buffer/random_trace.hpp"
#include "buffer/trace_window.hpp"
#include "core/build_parts.hpp"
#include "rudder/core/error.hpp"
#include "rudder/steer/agent_spec.hpp"
#include "steer/fit/fit.hpp"
#include "steer/samples/sample_collector.hpp"

#include "hand_made.hpp"
#include "planted_samples.hpp"
#include "random_models.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

std::size_t feature(std::string_view name, steer::FeatureSet set = steer::FeatureSet::repaired) {
    const auto names = steer::feature_names(set);
    const auto found = std::ranges::find(names, name);
    EXPECT_NE(found, names.end()) << name;
    return static_cast<std::size_t>(found - names.begin());
}

TEST(Features, AreWindowedAndFractional) {
    steer::FeatureMaker maker(steer::FeatureSet::repaired);
    static_cast<void>(maker.make(observed(0, 20)));
    const auto x = maker.make(observed(1, 50));
    EXPECT_DOUBLE_EQ(x[feature("hit_rate")], 0.5);
    EXPECT_DOUBLE_EQ(x[feature("hit_rate_change_1")], 0.3);
    EXPECT_DOUBLE_EQ(x[feature("hit_rate_change_4")], 0) << "four windows ago there was none";
    EXPECT_DOUBLE_EQ(x[feature("demand_per_capacity")], 50.0 / 200);
    EXPECT_DOUBLE_EQ(x[feature("demand_since_per_capacity")], (80.0 + 50) / 200);
    EXPECT_DOUBLE_EQ(x[feature("steps_since_replacement")], std::log1p(2.0));
    steer::Observation replaced = observed(2, 60);
    replaced.rows.replacement = 30;
    const auto y = maker.make(replaced);
    EXPECT_DOUBLE_EQ(y[feature("brought_in_per_capacity")], 30.0 / 200);
    EXPECT_DOUBLE_EQ(y[feature("steps_since_replacement")], 0);
    EXPECT_DOUBLE_EQ(y[feature("demand_since_per_capacity")], 0);
}

TEST(Features, KnowWhenTheBuiltInRuleReplaces) {
    steer::FeatureMaker maker(steer::FeatureSet::repaired);
    steer::Observation o = observed(12);
    o.built_in.setting.policy = buffer::PolicySpec::parse("scored,every:16");
    EXPECT_DOUBLE_EQ(maker.make(o)[feature("until_built_in")], 3.0 / 16);
    o.step = 15;
    EXPECT_DOUBLE_EQ(maker.make(o)[feature("until_built_in")], 0) << "in this very step";
}

TEST(Features, OfThePaperAreCumulativeAndWhole) {
    steer::FeatureMaker maker(steer::FeatureSet::faithful);
    steer::Observation o = observed(7, 50);
    o.total = {.steps = 7, .needed = 1000, .hit = 333, .demand = 667};
    const auto x = maker.make(o);
    EXPECT_EQ(x[feature("pre_avg_hitrate", steer::FeatureSet::faithful)], 33);
    EXPECT_EQ(x[feature("pre_avg_t_rpc", steer::FeatureSet::faithful)], 50);
    EXPECT_EQ(x[feature("interval_id", steer::FeatureSet::faithful)], 7);
}

TEST(Features, StayFiniteWhateverIsSeen) {
    for (const steer::FeatureSet set : {steer::FeatureSet::repaired, steer::FeatureSet::faithful}) {
        steer::FeatureMaker maker(set);
        for (const double value : maker.make(steer::Observation{.setting = observed(0).setting,
                                  .twin = observed(0).twin,
                                  .built_in = observed(0).built_in}))
            EXPECT_TRUE(std::isfinite(value));
    }
    for (const std::string_view name : steer::feature_names(steer::FeatureSet::repaired)) {
        EXPECT_EQ(name.find("rank"), std::string_view::npos);
        EXPECT_EQ(name.find("graph"), std::string_view::npos);
    }
}

/// Runs a list of decisions from the start and returns the rows fetched from step `from` on.
double rows_from(const buffer::HostTrace& trace, const buffer::PolicySpec& policy,
                 buffer::SlotId capacity, const std::vector<bool>& decisions, std::uint64_t from) {
    buffer::IdBuffer buffer(policy, trace.facts(), capacity, capacity);
    buffer::TraceWindow steps(trace);
    std::uint64_t before = 0;
    for (std::uint64_t step = 0; step < decisions.size(); ++step) {
        if (step == from) before = buffer.accounts().fetched();
        buffer.publish(step, steps.step(step));
        buffer.advance({decisions[step], 1});
    }
    return static_cast<double>(buffer.accounts().fetched() - before);
}

TEST(Collect, LabelsAsReplayingFromTheStartDoes) {
    for (const char* name : {"scored-faithful", "scored"}) {
        const buffer::PolicySpec policy = buffer::PolicySpec::parse(name);
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            buffer::Trace trace;
            trace.push_back(random_trace(seed, {60, 50, 16}).host());
            steer::CollectOptions options;
            options.seed = seed;
            options.horizon = 8;
            options.sample = 1;
            const buffer::BufferSize size{std::nullopt, 8};
            const steer::SampleTable table = steer::collect(trace, "g", policy, size, options);
            ASSERT_EQ(table.samples.size(), 50 - 8 + 1);
            std::vector<bool> chosen;
            for (std::uint64_t step = 0; step < 50; ++step)
                chosen.push_back(steer::decided_by_chance(seed, 0, step));
            for (const steer::Sample& sample : table.samples) {
                ASSERT_EQ(sample.replaced, chosen[sample.step]);
                double rows[2];
                for (const bool yes : {false, true}) {
                    auto decisions = chosen;
                    decisions.resize(sample.step + 8);
                    decisions[sample.step] = yes;
                    for (std::uint64_t s = sample.step + 1; s < decisions.size(); ++s)
                        decisions[s] = (s + 1) % 16 == 0;
                    rows[yes ? 1 : 0] = rows_from(*trace[0], policy, 8, decisions, sample.step);
                }
                EXPECT_EQ(sample.rows_with, rows[1]) << name << " " << sample.step;
                EXPECT_EQ(sample.rows_without, rows[0]) << name << " " << sample.step;
                EXPECT_EQ(sample.label, rows[1] < rows[0]) << "a tie is 0";
            }
        }
    }
}

TEST(Collect, RefusesPoliciesThatTakeNoDecisions) {
    buffer::Trace trace;
    trace.push_back(random_trace(1).host());
    for (const char* policy : {"lru", "scored,every:4"}) {
        EXPECT_THROW(static_cast<void>(steer::collect(trace, "g", buffer::PolicySpec::parse(policy),
                                                      {0.25, 0}, {})),
                     Error);
    }
}

TEST(Samples, SurviveTheirTable) {
    const steer::SampleTable table = planted(1, 20);
    const steer::SampleTable read = steer::parse_csv(steer::to_csv(table), "test");
    ASSERT_EQ(read.samples.size(), table.samples.size());
    EXPECT_EQ(read.graphs, table.graphs);
    EXPECT_EQ(read.policies, table.policies);
    for (std::size_t i = 0; i < read.samples.size(); ++i) {
        EXPECT_EQ(read.samples[i].label, table.samples[i].label);
        EXPECT_EQ(read.samples[i].paper, table.samples[i].paper);
        for (std::size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(read.features(steer::FeatureSet::repaired, i)[c],
                        table.features(steer::FeatureSet::repaired, i)[c], 1e-8);
    }
}

void refused(const std::function<void()>& what, ErrorKind kind, const std::string& words) {
    try {
        what();
        ADD_FAILURE() << "not refused: " << words;
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind) << error.what();
        EXPECT_THAT(error.what(), HasSubstr(words));
        EXPECT_FALSE(error.remedy().empty());
    }
}

TEST(Samples, OfOtherKindsAreRefused) {
    const std::string text = steer::to_csv(planted(1, 2));
    const auto parse = [](std::string bytes) {
        static_cast<void>(steer::parse_csv(bytes, "test"));
    };
    refused([&] { parse("a,b\n1,2\n"); }, ErrorKind::input, "not a table of samples");
    std::string version = text;
    version.replace(version.find("version 1"), 9, "version 9");
    refused([&] { parse(version); }, ErrorKind::input, "another version");
    std::string column = text;
    column.replace(column.find("hit_rate"), 8, "hit_fate");
    refused([&] { parse(column); }, ErrorKind::input, "other columns");
    refused([&] { parse(text + "1,2\n"); }, ErrorKind::input, "line 9");
    std::string number = text;
    number.replace(number.rfind(','), 1, ",x");
    refused([&] { parse(number); }, ErrorKind::input, "invalid number");
}

TEST(Samples, WithoutALabelOrASecondGraphAreRefused) {
    steer::SampleTable table = planted(1, 20);
    steer::FitTask task;
    task.test = {"c"};
    EXPECT_NO_THROW(static_cast<void>(steer::begin_model(table, task)));
    task.test = {"nowhere"};
    refused([&] { static_cast<void>(steer::begin_model(table, task)); }, ErrorKind::usage,
            "nowhere");
    task.test = {"a"};
    steer::SampleTable one = table;
    one.graphs = {"a", "a", "a"};
    for (steer::Sample& s : one.samples)
        s.graph = 0;
    one.graphs.resize(1);
    refused([&] { static_cast<void>(steer::begin_model(one, task)); }, ErrorKind::input,
            "one graph");
    for (steer::Sample& s : table.samples)
        s.label.reset();
    refused([&] { static_cast<void>(steer::begin_model(table, task)); }, ErrorKind::input,
            "no counterfactual label");
    for (steer::Sample& s : table.samples)
        s.label = true;
    refused([&] { static_cast<void>(steer::begin_model(table, task)); }, ErrorKind::input, "is 1");
}

TEST(Samples, AreSplitByGraphNeverByRow) {
    const steer::SampleTable table = planted(2, 50);
    steer::FitTask task;
    task.test = {"b"};
    const steer::Model model = steer::begin_model(table, task);
    EXPECT_EQ(steer::rows_of(table, task, model, steer::Side::test).rows(), 50);
    EXPECT_EQ(steer::rows_of(table, task, model, steer::Side::train_all).rows(), 100);
    EXPECT_EQ(steer::rows_of(table, task, model, steer::Side::train).rows() +
                  steer::rows_of(table, task, model, steer::Side::held_out).rows(),
              100);
}

TEST(Samples, ThePublishedLabelIsAboveTheMean) {
    steer::SampleTable table = planted(3, 100);
    std::size_t ones = 0;
    double mean = 0;
    for (const steer::Sample& s : table.samples)
        mean += s.hit_change / static_cast<double>(table.samples.size());
    for (const steer::Sample& s : table.samples) {
        EXPECT_EQ(*s.paper, s.hit_change > mean) << "the other two never change here";
        ones += *s.paper ? 1U : 0U;
    }
    EXPECT_GT(ones, 100U);
}

TEST(FitScores, OfKnownAnswers) {
    const std::vector<double> p{0.9, 0.8, 0.3, 0.1, 0.6};
    const std::vector<std::uint8_t> y{1, 1, 1, 0, 0};
    const steer::FitScores s = steer::score(p, y);
    EXPECT_DOUBLE_EQ(s.accuracy, 3.0 / 5);
    EXPECT_DOUBLE_EQ(s.majority, 3.0 / 5);
    EXPECT_FALSE(s.label_accuracy) << "nobody said what was gained";
    EXPECT_DOUBLE_EQ(*steer::score(p, y, std::vector<std::uint8_t>{1, 0, 0, 0, 0}).label_accuracy,
                     3.0 / 5);
    EXPECT_DOUBLE_EQ(s.balanced, (2.0 / 3 + 1.0 / 2) / 2);
    EXPECT_DOUBLE_EQ(s.auc, 5.0 / 6);
    EXPECT_NEAR(s.brier, (0.01 + 0.04 + 0.49 + 0.01 + 0.36) / 5, 1e-12);
    EXPECT_EQ(s.bins[9].count, 1U);
    EXPECT_DOUBLE_EQ(s.bins[6].observed, 0);
    const std::vector<double> same(4, 0.7);
    EXPECT_DOUBLE_EQ(steer::score(same, std::vector<std::uint8_t>{0, 1, 0, 1}).auc, 0.5);
    EXPECT_DOUBLE_EQ(steer::score(same, std::vector<std::uint8_t>{0, 1, 0, 1}).balanced, 0.5);
}

class Fitting : public testing::TestWithParam<const char*> {};

TEST_P(Fitting, FindsThePlantedRule) {
    const steer::SampleTable table = planted(4);
    steer::FitTask task;
    task.kind = GetParam();
    task.test = {"c"};
    steer::FittedModel made;
    try {
        made = steer::fit_model(table, task);
    } catch (const Error& error) {
        // Only where the library is not there; whatever else goes wrong is a failure.
        const bool missing =
            !built_in("XGBoost") || error.problem().find("cannot be loaded") != std::string::npos;
        if (task.kind != "xgb" || !missing) throw;
        GTEST_SKIP() << "SKIPPED: " << error.what();
    }
    if (!made.gain.empty()) {
        EXPECT_EQ(std::ranges::max_element(made.gain) - made.gain.begin(), 0)
            << "the first feature";
    }
    EXPECT_EQ(made.gain.empty(), task.kind == "lr" || task.kind == "svm");
    const steer::Model& model = made.model;
    const auto classifier = steer::make_classifier(model, "test");
    const steer::FitData test = steer::rows_of(table, task, model, steer::Side::test);
    const steer::FitScores scores = steer::score(steer::answers(*classifier, test), test.y);
    EXPECT_GT(scores.balanced, 0.85);
    EXPECT_GT(scores.auc, 0.92);
    EXPECT_LT(scores.brier, 0.15);
    const auto lost = steer::permutation_importance(*classifier, test, 1);
    EXPECT_EQ(std::ranges::max_element(lost) - lost.begin(), 0);
}

INSTANTIATE_TEST_SUITE_P(Four, Fitting, testing::Values("lr", "svm", "rf", "xgb"));

TEST(ClassifierAgents, AnswerByTheirModel) {
    const TempDir folder;
    for (const std::string_view kind : steer::classifier_kinds) {
        const steer::Model model = random_model(std::string(kind), 3);
        const auto path = folder / std::string(kind);
        steer::write_model(model, path, false);
        steer::AgentFacts facts;
        const auto agent = steer::make_agent(
            steer::AgentSpec::parse(fmt::format("{}:{}", kind, path.string())), facts);
        const auto classifier = steer::make_classifier(model, "test");
        steer::FeatureMaker maker(steer::FeatureSet::repaired);
        std::vector<float> x(model.mean.size());
        for (std::uint64_t step = 0; step < 30; ++step) {
            const steer::Observation seen = observed(step, 3 * step);
            steer::standardise(model, maker.make(seen), x);
            const bool yes = classifier->probability(x) >= 0.5;
            const steer::Answer answer = agent->decide(seen);
            EXPECT_EQ(answer.action.kind,
                      yes ? steer::ActionKind::replace : steer::ActionKind::keep);
            EXPECT_EQ(answer.action.reason, steer::Reason::predicted);
        }
    }
}

TEST(ClassifierAgents, RefuseTheWrongModel) {
    const TempDir folder;
    const auto path = (folder / "lr").string();
    steer::write_model(random_model("lr", 3), path, false);
    const steer::AgentFacts facts;
    const auto make = [&](const std::string& text) {
        static_cast<void>(steer::make_agent(steer::AgentSpec::parse(text), facts));
    };
    refused([&] { make("svm:" + path); }, ErrorKind::usage, "is a lr");
    refused([&] { make("lr:" + path + ",faithful"); }, ErrorKind::usage, "published features");
    EXPECT_THROW(make("lr:" + path + "-missing"), Error);
    EXPECT_THROW(make("lr"), Error) << "needs a file";
}

}  // namespace
}  // namespace rudder::test
