// The reader of run folders: against a slow and simple one, and on folders that are damaged.
#include <random>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include "report/catalogue.hpp"
#include "report/run_data.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/parallel.hpp"

#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using test::FakeRun;
using test::TempDir;
using test::write_fake_run;
using test::write_file;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A step as the slow reader sees it: every metric, summed over ranks.
struct SlowStep {
    std::map<std::string, double> sums;
    double worst_stall = 0;
    double ranks = 0;
};

std::map<std::uint64_t, SlowStep> slow_steps(const std::string& text) {
    std::map<std::uint64_t, SlowStep> steps;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        const Json json = Json::parse(line, nullptr, false);
        if (!json.is_object() || !json.contains("step") || !json.contains("rank")) continue;
        SlowStep& step = steps[json["step"]];
        ++step.ranks;
        for (const report::MetricInfo& metric : report::metric_catalogue()) {
            std::string pointer = "/" + std::string(metric.path);
            std::ranges::replace(pointer, '.', '/');
            step.sums[std::string(metric.path)] +=
                json.at(Json::json_pointer(pointer)).get<double>();
        }
        step.worst_stall = std::max(step.worst_stall, json["seconds"]["stall"].get<double>());
    }
    return steps;
}

/// Every bucket of every metric, made from the slow steps.
void expect_same(const report::MetricsData& data, const std::map<std::uint64_t, SlowStep>& steps) {
    ASSERT_EQ(data.steps, steps.size());
    for (std::size_t m = 0; m < report::metric_catalogue().size(); ++m) {
        const report::MetricInfo& metric = report::metric_catalogue()[m];
        std::vector<report::Stat> want(data.series.buckets());
        for (const auto& [number, step] : steps) {
            double value = step.sums.at(std::string(metric.path));
            if (metric.kind != FieldKind::count) value /= step.ranks;
            want.at(number / data.series.width).add(value);
        }
        for (std::size_t b = 0; b < want.size(); ++b) {
            const report::Stat& got = data.series.at(b, m);
            ASSERT_EQ(got.count, want[b].count) << metric.path << " bucket " << b;
            ASSERT_NEAR(got.sum, want[b].sum, 1e-9 * (1 + std::abs(want[b].sum))) << metric.path;
            ASSERT_NEAR(got.min, want[b].min, 1e-9 * (1 + std::abs(want[b].min))) << metric.path;
            ASSERT_NEAR(got.max, want[b].max, 1e-9 * (1 + std::abs(want[b].max))) << metric.path;
        }
    }
    double worst = 0;
    for (const auto& [number, step] : steps)
        worst = std::max(worst, step.worst_stall);
    EXPECT_DOUBLE_EQ(data.series.total(report::series_column(report::Derived::worst_stall)).max,
                     worst);
}

TEST(RunReader, AgreesWithASlowOneOnRandomRuns) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 12; ++round) {
        const FakeRun run{.steps = 1 + random() % (round < 9 ? 40 : 3000),
                          .ranks = 1 + random() % 5,
                          .steps_per_epoch = 1 + random() % 20,
                          .seed = random()};
        const TempDir folder;
        const std::string text = test::fake_metrics(run);
        write_file(folder / "metrics.jsonl", text);
        const report::RunData data = report::read_run(folder.path());
        ASSERT_EQ(data.metrics.lines, run.steps * run.ranks);
        EXPECT_EQ(data.metrics.ranks, run.ranks);
        EXPECT_LE(data.metrics.series.buckets(), 512U);
        EXPECT_EQ(data.metrics.last_step, run.steps - 1);
        EXPECT_EQ(data.metrics.damaged, 0U);
        expect_same(data.metrics, slow_steps(text));
        EXPECT_EQ(data.metrics.epoch_ends.size(), (run.steps - 1) / run.steps_per_epoch);
    }
}

TEST(RunReader, DoesNotDependOnTheNumberOfThreads) {
    const TempDir folder;
    // More than one chunk of the file; steps that lie across their bounds.
    write_file(folder / "metrics.jsonl",
               test::fake_metrics({.steps = 5000, .ranks = 3, .steps_per_epoch = 100, .seed = 3}));
    set_thread_count(1);
    const report::MetricsData one = report::read_run(folder.path()).metrics;
    set_thread_count(0);
    const report::MetricsData all = report::read_run(folder.path()).metrics;
    EXPECT_EQ(one.steps, 5000U);
    ASSERT_EQ(one.series.stats.size(), all.series.stats.size());
    for (std::size_t i = 0; i < one.series.stats.size(); ++i) {
        EXPECT_EQ(one.series.stats[i].sum, all.series.stats[i].sum);
        EXPECT_EQ(one.series.stats[i].max, all.series.stats[i].max);
    }
    EXPECT_EQ(one.by_owner, all.by_owner);
}

TEST(RunReader, KeepsExtremesWhenItJoinsSteps) {
    const TempDir folder;
    const FakeRun run{.steps = 4000, .ranks = 1, .steps_per_epoch = 1000, .seed = 1};
    std::string text;
    for (std::uint64_t step = 0; step < run.steps; ++step) {
        Json line = test::fake_step(run, step, 0);
        if (step == 1234) line["seconds"]["stall"] = 77.5;
        text += line.dump() + "\n";
    }
    write_file(folder / "metrics.jsonl", text);
    report::MetricsData data = report::read_run(folder.path()).metrics;
    const std::size_t stall = report::series_column("seconds.stall");
    EXPECT_EQ(data.series.total(stall).max, 77.5);
    const double sum = data.series.total(stall).sum;
    data.series.coarsen(7);
    EXPECT_LE(data.series.buckets(), 7U);
    EXPECT_EQ(data.series.total(stall).max, 77.5);
    EXPECT_EQ(data.series.total(stall).count, 4000U);
    EXPECT_NEAR(data.series.total(stall).sum, sum, 1e-6);
}

TEST(RunReader, RunsOfEarlierVersionsKnowOfNoLearnedRows) {
    const TempDir folder;
    write_fake_run(folder.path());
    std::string text;
    const FakeRun run{.steps = 6, .ranks = 2, .seed = 5};
    for (std::uint64_t line = 0; line < run.steps * run.ranks; ++line) {
        Json step = test::fake_step(run, line / 2, line % 2);
        step.erase("learned");
        text += step.dump() + "\n";
    }
    write_file(folder / "metrics.jsonl", text);
    const report::RunData data = report::read_run(folder.path());
    EXPECT_EQ(data.metrics.lines, 12U);
    for (const std::string& said : data.missing)
        EXPECT_THAT(said, testing::Not(testing::HasSubstr("learned")));
}

TEST(RunReader, SumsBytesByOwner) {
    const TempDir folder;
    const FakeRun run{.steps = 9, .ranks = 3, .seed = 5};
    write_file(folder / "metrics.jsonl", test::fake_metrics(run));
    const report::MetricsData data = report::read_run(folder.path()).metrics;
    std::vector<double> want(9, 0);
    for (std::uint64_t step = 0; step < run.steps; ++step) {
        for (std::uint64_t rank = 0; rank < 3; ++rank) {
            const Json owners = test::fake_step(run, step, rank)["bytes_by_owner"];
            for (std::size_t o = 0; o < 3; ++o)
                want[rank * 3 + o] += owners[o].get<double>();
        }
    }
    EXPECT_EQ(data.by_owner, want);
    EXPECT_THAT(data.policies,
                testing::ElementsAre(testing::Pair(0, "lru"), testing::Pair(4, "window:16")));
}

TEST(RunReader, ReadsDecisionsAndWhatCameOfThem) {
    const TempDir folder;
    write_fake_run(folder.path());
    const report::RunData run = report::read_run(folder.path());
    EXPECT_THAT(run.missing, testing::IsEmpty());
    EXPECT_EQ(run.state, report::RunStatus::finished);
    ASSERT_EQ(run.decisions.points.size(), 3U);
    EXPECT_EQ(run.decisions.points[0].verdict, report::Judgement::undecided);
    EXPECT_EQ(run.decisions.points[1].verdict, report::Judgement::right);
    EXPECT_EQ(run.decisions.points[1].kind, steer::ActionKind::set);
    EXPECT_NEAR(run.decisions.points[1].gain, 10.0 / 90, 1e-6);
    EXPECT_EQ(run.decisions.points[2].verdict, report::Judgement::wrong);
    EXPECT_NEAR(run.decisions.points[2].gain, -0.1, 1e-6);
    ASSERT_EQ(run.decisions.notable.size(), 3U);
    EXPECT_EQ(run.decisions.notable[1].action, "set policy window:32, window 32");
    EXPECT_EQ(run.decisions.notable[1].reason, "shadow_better");
    EXPECT_EQ(run.decisions.notable[1].other_rows, 90.0);
}

TEST(RunReader, EveryPartMayBeAbsent) {
    for (const char* name : {"metrics.jsonl", "decisions.jsonl", "epochs.jsonl", "summary.json",
                             "run.json", "config.toml"}) {
        const TempDir folder;
        write_fake_run(folder.path());
        std::filesystem::remove(folder / name);
        const report::RunData run = report::read_run(folder.path());
        EXPECT_THAT(run.missing, Contains(HasSubstr(name))) << name;
    }
}

TEST(RunReader, AFileCutAnywhereGivesAReport) {
    const FakeRun run{.steps = 2, .ranks = 2};
    for (const std::string name :
         {"metrics.jsonl", "decisions.jsonl", "epochs.jsonl", "summary.json", "run.json"}) {
        const TempDir folder;
        write_fake_run(folder.path(), run);
        const std::string whole = read_text(folder / name, 1U << 20U);
        const std::size_t by = whole.size() > 1500 ? 5 : 2;
        for (std::size_t size = 0; size < whole.size(); size += by) {
            write_file(folder / name, whole.substr(0, size));
            const report::RunData data = report::read_run(folder.path());
            if (name == "metrics.jsonl") {
                const auto lines =
                    static_cast<std::uint64_t>(std::ranges::count(whole.substr(0, size), '\n'));
                // A line that lacks nothing but its end is whole.
                const bool no_end = size > 0 && whole[size] == '\n';
                ASSERT_EQ(data.metrics.lines, lines + (no_end ? 1U : 0U)) << size;
                ASSERT_EQ(data.metrics.cut, size > 0 && whole[size - 1] != '\n' && !no_end) << size;
            }
        }
    }
}

TEST(RunReader, GarbageLinesAreLeftOutAndCounted) {
    const TempDir folder;
    const FakeRun run{.steps = 30, .ranks = 2};
    std::istringstream in(test::fake_metrics(run));
    std::string text;
    std::uint64_t garbage = 0;
    const std::vector<std::string> kinds{"no JSON",
                                         "{\"step\":",
                                         "[1,2]",
                                         "{\"rank\":1}",
                                         "{\"step\":-1,\"rank\":0}",
                                         "{\"step\":1e3,\"rank\":0}",
                                         "{\"step\":1,\"rank\":0} x",
                                         "\xff\xfe",
                                         "null",
                                         "{\"step\":99999999999,\"rank\":0}",
                                         "{\"step\":0,\"rank\":900000000}",
                                         "{\"step\":1,\"rank\":0,\"bytes_by_owner\":[\"x\"]}"};
    std::size_t next = 0;
    for (std::string line; std::getline(in, line);) {
        text += line + "\n";
        if (next % 2 == 0 && next / 2 < kinds.size()) {
            text += kinds[next / 2] + "\n";
            ++garbage;
        }
        ++next;
    }
    write_file(folder / "metrics.jsonl", text + "\n\n");
    const report::RunData data = report::read_run(folder.path());
    EXPECT_EQ(data.metrics.damaged, garbage);
    EXPECT_EQ(data.metrics.lines, 60U);
    EXPECT_THAT(data.missing, Contains(HasSubstr("12 lines of metrics.jsonl")));
    expect_same(data.metrics, slow_steps(test::fake_metrics(run)));
}

TEST(RunReader, RandomDamageNeverEndsIt) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 150; ++round) {
        const TempDir folder;
        write_fake_run(folder.path(), {.steps = 6, .ranks = 2});
        for (const std::string name : {"metrics.jsonl", "decisions.jsonl", "epochs.jsonl",
                                       "summary.json", "run.json", "config.toml"}) {
            std::string text = read_text(folder / name, 1U << 20U);
            for (std::uint64_t i = random() % 6; i > 0; --i)
                text[random() % text.size()] = static_cast<char>(random());
            write_file(folder / name, text);
        }
        const report::RunData run = report::read_run(folder.path());
        EXPECT_LE(run.metrics.lines, 12U);
    }
}

TEST(RunReader, OtherVersionsAreSaidToBe) {
    const TempDir folder;
    write_fake_run(folder.path());
    Json summary = test::fake_summary({});
    summary["schema"] = 2;
    summary["rows"] = "many";
    write_file(folder / "summary.json", summary.dump());
    const report::RunData run = report::read_run(folder.path());
    EXPECT_THAT(run.missing, Contains(HasSubstr("summary.json has schema 2")));
    EXPECT_FALSE(run.summary.number("rows.hit"));
    EXPECT_EQ(run.summary.number("accuracy.test"), 0.8875);
}

TEST(RunReader, ALossThatIsNoNumberIsCounted) {
    const TempDir folder;
    Json line = test::fake_step({}, 0, 0);
    line["loss"] = nullptr;
    write_file(folder / "metrics.jsonl", line.dump() + "\n");
    EXPECT_THAT(report::read_run(folder.path()).missing,
                Contains(HasSubstr("loss is NaN or infinite in 1 of 1")));
}

TEST(RunReader, KnowsHowARunStands) {
    const TempDir folder;
    write_fake_run(folder.path());
    std::filesystem::remove(folder / "summary.json");
    Json run = test::fake_run_json({});
    const auto state = [&](const char* word) {
        run["state"] = word;
        write_file(folder / "run.json", run.dump());
        return report::read_run(folder.path()).state;
    };
    EXPECT_EQ(state("failed"), report::RunStatus::failed);
    EXPECT_EQ(state("interrupted"), report::RunStatus::interrupted);
    EXPECT_EQ(state("running"), report::RunStatus::killed);
    const int fd = ::open((folder / "metrics.jsonl").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(fd, LOCK_EX), 0);
    EXPECT_EQ(state("running"), report::RunStatus::running);
    ::close(fd);
    EXPECT_EQ(state("running"), report::RunStatus::killed);
    std::filesystem::remove(folder / "run.json");
    EXPECT_EQ(report::read_run(folder.path()).state, report::RunStatus::unfinished);
}

TEST(RunReader, WhatIsNoRunIsBadInput) {
    const TempDir folder;
    for (const auto& path : {folder.path(), folder / "nothing"}) {
        try {
            static_cast<void>(report::read_run(path));
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
            EXPECT_THAT(error.remedy(), HasSubstr("rudder train --out"));
        }
    }
}

TEST(RunReader, ManyRanksAreShownInGroups) {
    const TempDir folder;
    write_file(folder / "metrics.jsonl",
               test::fake_metrics({.steps = 2, .ranks = 150, .steps_per_epoch = 1}));
    const report::MetricsData data = report::read_run(folder.path()).metrics;
    EXPECT_EQ(data.ranks, 150U);
    EXPECT_EQ(data.ranks_per_group, 3U);
    EXPECT_EQ(data.by_rank.size(), 50U);
    EXPECT_EQ(data.by_rank[0].lines, 6U);
}

}  // namespace
}  // namespace rudder
