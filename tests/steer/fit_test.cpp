// The random forest against known answers and its properties, and the ceiling of classifiers.
#include <algorithm>
#include <array>
#include <map>

#include <gmock/gmock.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "steer/fit/forest.hpp"

#include "planted_samples.hpp"

namespace rudder::test {
namespace {

using Kinds = std::vector<std::string_view>;

/// Rows by hand or by chance, all of weight 1.
steer::FitData rows_with(std::size_t columns, std::size_t count, auto value, auto label) {
    steer::FitData data;
    data.columns = columns;
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t c = 0; c < columns; ++c)
            data.x.push_back(static_cast<float>(value(i, c)));
        data.y.push_back(label(data.x.data() + i * columns) ? 1 : 0);
    }
    data.weight.assign(count, 1);
    return data;
}

/// Columns of normal numbers.
steer::FitData drawn_rows(std::size_t columns, std::size_t count, std::uint64_t seed, auto label) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 3);
    const auto value = [&](std::size_t, std::size_t) { return draws.normal(); };
    return rows_with(columns, count, value, label);
}

steer::Model forest_of(const steer::FitData& data, const steer::ForestOptions& options,
                       std::uint64_t seed = 1) {
    steer::Model model;
    model.kind = "rf";
    model.mean.assign(data.columns, 0);
    model.spread.assign(data.columns, 1);
    std::vector<double> gain;
    steer::fit_forest(model, data, seed, gain, options);
    EXPECT_EQ(gain.size(), data.columns);
    return model;
}

double share_right(const steer::Model& model, const steer::FitData& data) {
    const auto classifier = steer::make_classifier(model, "test");
    return steer::score(*classifier, data).accuracy;
}

/// Where a row ends in a tree, walked as plainly as it gets; in nodes from the first tree's root.
std::size_t leaf_of(const steer::Model& model, std::int32_t root, std::span<const float> row) {
    auto at = static_cast<std::size_t>(root);
    while (model.array("left", "").wholes[at] >= 0) {
        const auto feature = static_cast<std::size_t>(model.array("feature", "").wholes[at]);
        const bool left = row[feature] < model.array("split", "").values[at];
        at = static_cast<std::size_t>(root + model.array(left ? "left" : "right", "").wholes[at]);
    }
    return at;
}

TEST(Forest, CutsWhereAHandDoes) {
    // The last 3 of 12 rows are 1, so they weigh 2 each and the others 2/3. A leaf has 5 rows at
    // least: of the cuts that are left the one behind 7 rows leaves the purest sides. The other
    // column is of no use.
    const auto data = rows_with(
        2, 12, [](std::size_t i, std::size_t c) { return c == 0 ? i : (i * 5) % 12; },
        [](const float* x) { return x[0] > 8; });
    const steer::Model model =
        forest_of(data, {.trees = 1, .leaf = 5, .tried = 2, .bootstrap = false});
    EXPECT_EQ(model.array("left", "").wholes, (std::vector<std::int32_t>{1, -1, -1}));
    EXPECT_EQ(model.array("right", "").wholes, (std::vector<std::int32_t>{2, -1, -1}));
    EXPECT_EQ(model.array("feature", "").wholes[0], 0);
    EXPECT_FLOAT_EQ(model.array("split", "").values[0], 6.5F);
    EXPECT_FLOAT_EQ(model.array("split", "").values[1], 0);
    EXPECT_FLOAT_EQ(model.array("split", "").values[2], 6 / (6 + 2 * (2 / 3.0F)));
    const steer::Model deep =
        forest_of(data, {.trees = 1, .leaf = 1, .tried = 2, .bootstrap = false});
    EXPECT_FLOAT_EQ(deep.array("split", "").values[0], 8.5F);
    EXPECT_EQ(deep.array("left", "").wholes.size(), 3U) << "both sides are pure";
}

TEST(Forest, EveryLeafHasEnoughRowsAndAnswersItsShare) {
    const auto data = drawn_rows(4, 500, 2, [](const float* x) { return x[0] * x[1] > 0.1F; });
    const std::size_t trees = 20;
    const steer::Model model = forest_of(data, {.trees = trees, .bootstrap = false});
    const double ones = static_cast<double>(std::ranges::count(data.y, 1));
    for (const std::int32_t root : model.array("roots", "").wholes) {
        std::map<std::size_t, std::array<double, 2>> seen;  // by leaf, rows of each class
        for (std::size_t i = 0; i < data.rows(); ++i)
            ++seen[leaf_of(model, root, data.row(i))][data.y[i]];
        EXPECT_GT(seen.size(), 5U);
        for (const auto& [leaf, count] : seen) {
            EXPECT_GE(count[0] + count[1], 5);
            const double one = count[1] / ones;  // both classes weigh alike
            const double zero = count[0] / (500 - ones);
            EXPECT_NEAR(static_cast<double>(model.array("split", "").values[leaf]) * trees,
                        one / (one + zero), 1e-6);
        }
    }
}

TEST(Forest, SeparatesWhatCanBeSeparated) {
    const auto label = [](const float* x) { return x[1] > 0.5F; };
    const auto data = drawn_rows(6, 600, 3, label);
    const steer::Model model = forest_of(data, {});
    EXPECT_EQ(model.array("roots", "").wholes.size(), 300U);
    EXPECT_GT(share_right(model, data), 0.99);
    EXPECT_GT(share_right(model, drawn_rows(6, 600, 4, label)), 0.95);
    // A rule that no single cut finds, on rows it has not seen.
    const auto both = [](const float* x) { return (x[0] > 0) != (x[1] > 0); };
    const steer::Model crossed = forest_of(drawn_rows(3, 2000, 5, both), {});
    EXPECT_GT(share_right(crossed, drawn_rows(3, 500, 6, both)), 0.9);
}

TEST(Forest, IsTheSameForAnyNumberOfThreadsAndAnotherForAnotherSeed) {
    const auto data = drawn_rows(5, 300, 7, [](const float* x) { return x[0] + x[1] > 0.4F; });
    const int threads = thread_count();
    const auto made = [&](int count, std::uint64_t seed) {
        set_thread_count(count);
        const steer::Model model = forest_of(data, {.trees = 40}, seed);
        std::vector<float> all = model.array("split", "").values;
        for (const char* name : {"left", "right", "feature", "roots"})
            std::ranges::copy(model.array(name, "").wholes, std::back_inserter(all));
        return all;
    };
    const auto one = made(1, 1);
    const auto two = made(2, 1);
    const auto four = made(4, 1);
    const auto other = made(2, 2);
    set_thread_count(threads);
    EXPECT_EQ(one, two);
    EXPECT_EQ(one, four);
    EXPECT_NE(one, other);
}

TEST(Forest, ATreeHasTheRowsThatWereDrawnWithReplacement) {
    // Labels by chance: a tree of single rows knows those it has, and guesses the others. Of n
    // draws from n rows 1 - 1/e are different ones, so 0.632 + 0.368 / 2 are right.
    const RandomStream stream({.purpose = Purpose::test, .seed = 8});
    Draws draws(stream, 9);
    const auto data = drawn_rows(3, 4000, 8, [&](const float*) { return draws.uniform() < 0.5; });
    const steer::ForestOptions single{.trees = 1, .leaf = 1, .tried = 3};
    EXPECT_NEAR(share_right(forest_of(data, single), data), 0.816, 0.02);
    steer::ForestOptions all = single;
    all.bootstrap = false;
    EXPECT_EQ(share_right(forest_of(data, all), data), 1);
}

TEST(Forest, ASplitTriesTheRootOfTheNumberOfFeatures) {
    // One of nine says it all: the first cut is by it where it is among the three that are tried.
    const auto data = drawn_rows(9, 200, 10, [](const float* x) { return x[4] > 0; });
    const auto cuts_by_it = [&](std::size_t tried) {
        const steer::Model model = forest_of(data, {.trees = 600, .tried = tried});
        std::size_t count = 0;
        for (const std::int32_t root : model.array("roots", "").wholes)
            count += model.array("feature", "").wholes[static_cast<std::size_t>(root)] == 4;
        return count;
    };
    EXPECT_NEAR(static_cast<double>(cuts_by_it(0)), 200, 50);
    EXPECT_EQ(cuts_by_it(9), 600U);
    // Constant columns do not end the search: the last one is found behind eight of them.
    const auto rare = rows_with(
        9, 40, [](std::size_t i, std::size_t c) { return c == 8 ? i : 7; },
        [](const float* x) { return x[8] < 20; });
    EXPECT_EQ(share_right(forest_of(rare, {.trees = 20}), rare), 1);
}

/// Kinds that need no library that may be missing, and take no time.
const Kinds quick_kinds{"rf", "mlp"};

steer::FitScores tested(const steer::SampleTable& table, const steer::FitTask& task) {
    const steer::Model model = steer::fit_model(table, task).model;
    const auto classifier = steer::make_classifier(model, "test");
    return steer::score(*classifier, steer::rows_of(table, task, model, steer::Side::test));
}

TEST(Ceiling, NoClassifierIsAboveIt) {
    // Few samples of the test graph: models of the other graphs know more than those of its hosts.
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        steer::SampleTable table = planted(seed, 200);
        std::size_t kept = 0;
        for (steer::Sample& sample : table.samples) {
            const bool rare = sample.graph == 2 && kept++ >= 60;
            if (rare) sample.label.reset();
        }
        for (const std::string_view kind : quick_kinds) {
            steer::FitTask task;
            task.kind = kind;
            task.test = {"c"};
            const steer::FitScores reached = tested(table, task);
            const steer::Ceiling ceiling =
                steer::estimate_ceiling(table, task, reached, quick_kinds);
            EXPECT_GE(ceiling.scores.balanced, reached.balanced) << kind << " " << seed;
            EXPECT_EQ(ceiling.scores.samples, 60U);
            EXPECT_LE(ceiling.scores.balanced, 1);
        }
    }
}

TEST(Ceiling, IsWhatTheGraphsOwnHostsKnow) {
    // The rule of the test graph is the opposite one: models of the others are worse than a coin.
    steer::SampleTable table = planted(4);
    for (steer::Sample& sample : table.samples) {
        if (sample.graph == 2) sample.label = !*sample.label;
    }
    steer::FitTask task;
    task.kind = "rf";
    task.test = {"c"};
    const steer::FitScores reached = tested(table, task);
    EXPECT_LT(reached.balanced, 0.3);
    const steer::Ceiling ceiling = steer::estimate_ceiling(table, task, reached, quick_kinds);
    EXPECT_TRUE(ceiling.inside);
    EXPECT_GT(ceiling.scores.balanced, 0.7);
    // It is the best of its kinds: no single one is better.
    for (const std::string_view kind : quick_kinds) {
        const steer::Ceiling one = steer::estimate_ceiling(table, task, reached, Kinds{kind});
        EXPECT_EQ(one.by, kind);
        EXPECT_LE(one.scores.balanced, ceiling.scores.balanced);
        if (kind == ceiling.by) {
            EXPECT_EQ(one.scores.balanced, ceiling.scores.balanced);
        }
    }
}

TEST(Ceiling, NeedsASecondHost) {
    steer::SampleTable table = planted(5, 50);
    for (steer::Sample& sample : table.samples)
        sample.host = 0;
    steer::FitTask task;
    task.test = {"c"};
    try {
        static_cast<void>(steer::estimate_ceiling(table, task, {}, quick_kinds));
        ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_THAT(error.what(), testing::HasSubstr("one host"));
    }
}

TEST(LongCeiling, NoneOfTheSixIsAboveTheirs) {
    const steer::SampleTable table = planted(6, 120);
    for (const std::string_view kind : steer::classifier_kinds) {
        steer::FitTask task;
        task.kind = kind;
        task.test = {"c"};
        try {
            const steer::FitScores reached = tested(table, task);
            const steer::Ceiling ceiling =
                steer::estimate_ceiling(table, task, reached, Kinds{kind});
            EXPECT_GE(ceiling.scores.balanced, reached.balanced) << kind;
        } catch (const Error& error) {
            if (error.problem().find("this build has no") == std::string::npos &&
                error.problem().find("cannot be loaded") == std::string::npos) {
                throw;
            }
            GTEST_SKIP() << "SKIPPED: " << error.what();
        }
    }
}

}  // namespace
}  // namespace rudder::test
