// The fold of metrics lines: any cut of the lines into stretches gives what one stretch gives, and
// that is what a slow fold of all lines gives.
#include <random>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "report/catalogue.hpp"
#include "report/run/metrics_fold.hpp"
#include "report/run/read_parts.hpp"

#include "run_writer.hpp"

namespace rudder {
namespace {

using report::FoldShape;
using report::MetricsData;
using report::MetricsFold;
using report::MetricsLine;
using report::Stat;

/// Lines of a run with gaps: absent metrics, several ranks, steps out of order every tenth time.
struct FoldCase {
    FoldShape shape;
    std::vector<MetricsLine> lines;
};
FoldCase random_case(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    FoldCase made;
    made.shape.ranks = 1 + random() % 5;
    made.shape.ranks_per_group = 1 + random() % 2;
    made.shape.groups =
        (made.shape.ranks + made.shape.ranks_per_group - 1) / made.shape.ranks_per_group;
    made.shape.width = 1 + random() % 4;
    const std::uint64_t steps = 1 + random() % 30;
    made.shape.last_step = steps - 1;
    const std::size_t metrics = report::metric_catalogue().size();
    for (std::uint64_t s = 0; s < steps; ++s) {
        const std::uint64_t step = seed % 10 == 0 ? random() % steps : s;
        for (std::uint64_t rank = 0; rank < made.shape.ranks; ++rank) {
            if (random() % 20 == 0) continue;
            MetricsLine line;
            line.step = step;
            line.epoch = step / 7;
            line.rank = rank;
            line.values.assign(metrics, 0);
            line.seen.assign(metrics, 0);
            for (std::size_t m = 0; m < metrics; ++m) {
                if (random() % 12 == 0) continue;
                line.seen[m] = 1;
                line.values[m] = static_cast<double>(random() % 1000);
            }
            for (std::uint64_t o = 0; random() % 8 != 0 && o < made.shape.ranks; ++o)
                line.by_owner.push_back(static_cast<double>(random() % 500));
            line.policy = step % 5 < 3 ? "\"lru\"" : "\"window:16\"";
            made.lines.push_back(std::move(line));
        }
    }
    return made;
}

MetricsData in_one(const FoldCase& made) {
    MetricsFold fold(made.shape);
    for (const MetricsLine& line : made.lines)
        fold.add(line);
    return fold.finish();
}

/// Stretches with borders anywhere, empty ones too.
MetricsData in_stretches(const FoldCase& made, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    MetricsFold all(made.shape);
    MetricsFold part(made.shape);
    for (const MetricsLine& line : made.lines) {
        while (random() % 3 == 0) {
            all.join(std::move(part));
            part = MetricsFold(made.shape);
        }
        part.add(line);
    }
    all.join(std::move(part));
    return all.finish();
}

void expect_equal(const Stat& a, const Stat& b, const std::string& what) {
    EXPECT_EQ(a.count, b.count) << what;
    EXPECT_NEAR(a.sum, b.sum, 1e-9 * (1 + std::abs(b.sum))) << what;
    EXPECT_EQ(a.min, b.min) << what;
    EXPECT_EQ(a.max, b.max) << what;
}

void expect_equal_data(const MetricsData& a, const MetricsData& b) {
    EXPECT_EQ(a.lines, b.lines);
    EXPECT_EQ(a.steps, b.steps);
    EXPECT_EQ(a.first_step, b.first_step);
    EXPECT_EQ(a.last_step, b.last_step);
    EXPECT_EQ(a.unordered, b.unordered);
    EXPECT_EQ(a.bad_losses, b.bad_losses);
    EXPECT_EQ(a.seen, b.seen);
    EXPECT_EQ(a.epoch_ends, b.epoch_ends);
    EXPECT_EQ(a.by_owner, b.by_owner);
    EXPECT_EQ(a.has_owners, b.has_owners);
    EXPECT_EQ(a.policies, b.policies);
    ASSERT_EQ(a.by_rank.size(), b.by_rank.size());
    for (std::size_t i = 0; i < a.by_rank.size(); ++i) {
        EXPECT_EQ(a.by_rank[i].lines, b.by_rank[i].lines);
        EXPECT_NEAR(a.by_rank[i].seconds.stall, b.by_rank[i].seconds.stall, 1e-9);
        EXPECT_EQ(a.by_rank[i].rows, b.by_rank[i].rows);
        EXPECT_EQ(a.by_rank[i].edges, b.by_rank[i].edges);
    }
    ASSERT_EQ(a.rank_series.cells.size(), b.rank_series.cells.size());
    for (std::size_t i = 0; i < a.rank_series.cells.size(); ++i) {
        EXPECT_EQ(a.rank_series.cells[i].lines, b.rank_series.cells[i].lines);
        EXPECT_NEAR(a.rank_series.cells[i].own, b.rank_series.cells[i].own, 1e-9);
        EXPECT_EQ(a.rank_series.cells[i].rows, b.rank_series.cells[i].rows);
    }
    ASSERT_EQ(a.series.stats.size(), b.series.stats.size());
    for (std::size_t i = 0; i < a.series.stats.size(); ++i)
        expect_equal(a.series.stats[i], b.series.stats[i], std::to_string(i));
}

TEST(MetricsFold, CutsMakeNoDifference) {
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        SCOPED_TRACE(seed);
        const FoldCase made = random_case(seed);
        expect_equal_data(in_stretches(made, seed), in_one(made));
    }
}

/// Every step's lines gathered first, then everything computed from them. Lines in order of steps.
struct SlowFold {
    std::map<std::uint64_t, std::vector<const MetricsLine*>> steps;

    explicit SlowFold(const FoldCase& made) {
        for (const MetricsLine& line : made.lines)
            steps[line.step].push_back(&line);
    }
    static double sum(const std::vector<const MetricsLine*>& lines, std::size_t metric) {
        double total = 0;
        for (const MetricsLine* line : lines)
            total += line->values[metric];
        return total;
    }
    static double mean(const std::vector<const MetricsLine*>& lines, std::size_t metric) {
        double count = 0;
        for (const MetricsLine* line : lines)
            count += line->seen[metric];
        return count == 0 ? 0 : sum(lines, metric) / count;
    }
    static bool has(const std::vector<const MetricsLine*>& lines, std::size_t metric) {
        return std::ranges::any_of(lines, [&](auto* line) { return line->seen[metric] != 0; });
    }
    /// The bucket's value of a column, from all its steps.
    [[nodiscard]] Stat bucket(
        std::uint64_t number, std::uint64_t width,
        const std::function<std::optional<double>(const std::vector<const MetricsLine*>&)>& value)
        const {
        Stat stat;
        for (const auto& [step, lines] : steps) {
            if (step / width != number) continue;
            if (const auto v = value(lines)) stat.add(*v);
        }
        return stat;
    }
};

TEST(MetricsFold, IsWhatASlowFoldGives) {
    const auto index = [](const char* path) { return report::metric_index(path); };
    for (std::uint64_t seed = 1; seed < 100; ++seed) {
        if (seed % 10 == 0) continue;  // out of order: a step may count twice, as is said
        SCOPED_TRACE(seed);
        const FoldCase made = random_case(seed);
        const MetricsData data = in_one(made);
        const SlowFold slow(made);
        EXPECT_EQ(data.steps, slow.steps.size());
        EXPECT_EQ(data.unordered, 0U);
        const std::uint64_t width = made.shape.width;
        for (std::size_t b = 0; b < data.series.buckets(); ++b) {
            for (std::size_t m = 0; m < report::metric_catalogue().size(); ++m) {
                const auto& metric = report::metric_catalogue()[m];
                const bool counts = metric.kind == FieldKind::count;
                expect_equal(data.series.at(b, m),
                             slow.bucket(b, width,
                                         [&](const auto& lines) -> std::optional<double> {
                                             if (!SlowFold::has(lines, m)) return std::nullopt;
                                             return counts ? SlowFold::sum(lines, m)
                                                           : SlowFold::mean(lines, m);
                                         }),
                             std::string(metric.path));
            }
            const auto rows = [&](const auto& lines, const char* path) {
                return SlowFold::sum(lines, index(path));
            };
            expect_equal(data.series.at(b, series_column(report::Derived::fetched)),
                         slow.bucket(b, width,
                                     [&](const auto& lines) -> std::optional<double> {
                                         return rows(lines, "rows.demand") +
                                                rows(lines, "rows.replacement") +
                                                rows(lines, "rows.ahead");
                                     }),
                         "fetched");
            expect_equal(data.series.at(b, series_column(report::Derived::hit_rate)),
                         slow.bucket(b, width,
                                     [&](const auto& lines) -> std::optional<double> {
                                         const double hit = rows(lines, "rows.hit");
                                         const double remote = hit + rows(lines, "rows.demand");
                                         if (remote == 0) return std::nullopt;
                                         return hit / remote;
                                     }),
                         "hit rate");
            expect_equal(data.series.at(b, series_column(report::Derived::worst_stall)),
                         slow.bucket(b, width,
                                     [&](const auto& lines) -> std::optional<double> {
                                         if (!SlowFold::has(lines, index("seconds.step")))
                                             return std::nullopt;
                                         double worst = 0;
                                         for (const MetricsLine* line : lines) {
                                             const auto divided = index("seconds.wait_rows");
                                             const auto waited = line->seen[divided] != 0
                                                                     ? divided
                                                                     : index("seconds.stall");
                                             worst = std::max(worst, line->values[waited]);
                                         }
                                         return worst;
                                     }),
                         "worst stall");
        }
    }
}

TEST(MetricsFold, RanksOverTimeAddUpToTheirTotals) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        const FoldCase made = random_case(seed);
        MetricsData data = in_one(made);
        report::RankSeries& series = data.rank_series;
        // Joining buckets changes no sum.
        for (const std::size_t most : {512U, 4U, 1U}) {
            series.coarsen(most);
            ASSERT_LE(series.buckets(), most);
            for (std::size_t g = 0; g < series.groups; ++g) {
                report::RankCell sum;
                for (std::size_t b = 0; b < series.buckets(); ++b)
                    sum += series.at(b, g);
                EXPECT_EQ(sum.lines, data.by_rank[g].lines);
                EXPECT_NEAR(sum.own, data.by_rank[g].seconds.own(), 1e-6);
                EXPECT_EQ(sum.rows, static_cast<double>(data.by_rank[g].rows.fetched()));
            }
        }
    }
}

TEST(MetricsFold, LinesOutsideTheShapeCountAsDamaged) {
    const FoldCase made = random_case(3);
    MetricsFold fold(made.shape);
    MetricsLine line = made.lines.front();
    line.step = made.shape.last_step + 1;
    fold.add(line);
    line.step = 0;
    line.rank = made.shape.ranks;
    fold.add(line);
    fold.add_damaged(true);
    fold.add_damaged(false);
    const MetricsData data = fold.finish();
    EXPECT_EQ(data.damaged, 3U);
    EXPECT_TRUE(data.cut);
    EXPECT_EQ(data.lines, 0U);
    EXPECT_EQ(data.steps, 0U);
    EXPECT_EQ(data.series.buckets(), 0U);
    EXPECT_TRUE(data.present);
}

TEST(MetricsFold, MoreOwnersThanRanksAreLeftOut) {
    FoldCase made = random_case(4);
    made.shape.ranks = 2;
    made.shape.ranks_per_group = 1;
    made.shape.groups = 2;
    MetricsLine line = made.lines.front();
    line.step = 0;
    line.rank = 1;
    line.by_owner = {5, 6, 7, 8};
    MetricsFold fold(made.shape);
    fold.add(line);
    EXPECT_THAT(fold.finish().by_owner, testing::ElementsAre(0, 0, 5, 6));
}

TEST(RunSeries, CoarseningJoinsPairsAndLosesNothing) {
    std::mt19937_64 random(2);
    for (std::size_t buckets = 1; buckets < 40; ++buckets) {
        report::StepSeries series;
        series.columns = 3;
        series.width = 2;
        series.stats.resize(buckets * 3);
        for (Stat& stat : series.stats) {
            for (std::uint64_t i = random() % 4; i > 0; --i)
                stat.add(static_cast<double>(random() % 100) - 50);
        }
        const report::StepSeries before = series;
        const std::size_t most = 1 + random() % 10;
        series.coarsen(most);
        ASSERT_LE(series.buckets(), most);
        const std::uint64_t joined = series.width / before.width;
        EXPECT_EQ(joined & (joined - 1), 0U) << "a power of two";
        EXPECT_TRUE(joined == 1 || (buckets + joined / 2 - 1) / (joined / 2) > most) << "no more";
        for (std::size_t b = 0; b < series.buckets(); ++b) {
            for (std::size_t c = 0; c < 3; ++c) {
                Stat want;
                for (std::size_t i = b * joined; i < std::min(buckets, (b + 1) * joined); ++i)
                    want.add(before.at(i, c));
                expect_equal(series.at(b, c), want, "joined");
            }
        }
    }
}

TEST(RunSeries, TheFloorGoesWhereItsStepsAre) {
    report::RunData run;
    run.metrics.series.columns = report::series_columns();
    run.metrics.series.width = 3;
    run.metrics.series.stats.resize(2 * report::series_columns());
    report::add_floor(run, 2, {10, 20, 30, 40, 50});  // steps 2 to 6; 6 is behind the end
    const std::size_t column = report::series_column(report::Derived::floor);
    EXPECT_EQ(run.metrics.series.at(0, column).count, 1U);
    EXPECT_EQ(run.metrics.series.at(0, column).sum, 10);
    EXPECT_EQ(run.metrics.series.at(1, column).count, 3U);
    EXPECT_EQ(run.metrics.series.at(1, column).sum, 90);
}

TEST(RunFacts, LieFlat) {
    const report::Facts facts = report::flat_facts(Json::parse(
        R"({"a": {"b": 1.5, "c": [true, false, "x"]}, "t": "text", "n": null, "l": ["p", "q"],
            "m": [1, 2, 3], "e": {}})"));
    EXPECT_EQ(facts.number("a.b"), 1.5);
    EXPECT_EQ(facts.number("a.c.0"), 1);
    EXPECT_EQ(facts.number("a.c.1"), 0);
    EXPECT_EQ(facts.text("a.c.2"), "x");
    EXPECT_EQ(facts.number("n"), std::nullopt) << "null is absent";
    EXPECT_EQ(facts.text("n"), "");
    EXPECT_THAT(facts.list("l"), testing::ElementsAre("p", "q"));
    EXPECT_THAT(facts.number_list("m"), testing::ElementsAre(1, 2, 3));
    EXPECT_THAT(facts.list("m"), testing::IsEmpty());
    EXPECT_FALSE(facts.empty());
    EXPECT_TRUE(report::flat_facts(Json::object()).empty());
    EXPECT_EQ(report::flat_facts(Json(3)).number(""), 3) << "a file that is a number";
}

TEST(RunFacts, AreBounded) {
    Json large = Json::array();
    for (int i = 0; i < 30000; ++i)
        large.push_back(i);
    EXPECT_LE(report::flat_facts(large).numbers.size(), 20001U);
}

}  // namespace
}  // namespace rudder
