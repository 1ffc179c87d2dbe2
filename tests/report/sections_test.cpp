// Sections of the page, one by one: what they say of a run, and of what it lacks.
#include "page/sections.hpp"

#include <gmock/gmock.h>

#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using report::Html;
using report::RunData;
using report::RunStatus;
using report::ShownRun;
using testing::HasSubstr;
using testing::Not;

RunData run_of(const test::FakeRun& run = {}) {
    const test::TempDir folder;
    test::write_fake_run(folder.path(), run);
    return report::read_run(folder.path());
}

ShownRun shown_with(const RunData& run, std::size_t points = 256) {
    report::StepSeries series = run.metrics.series;
    series.coarsen(points);
    return {run, report::answers_of(run), std::move(series), "r1-", "a run", points, 250, 1000};
}

/// What a section writes.
std::string written(void (*write)(Html&, const ShownRun&), const RunData& run) {
    Html html;
    write(html, shown_with(run));
    return html.take();
}

TEST(PageSections, HaveTheirPlaceInThePage) {
    const RunData run = run_of();
    EXPECT_THAT(written(report::write_learning, run), HasSubstr("<section id=\"r1-learning\""));
    EXPECT_THAT(written(report::write_time, run), HasSubstr("<section id=\"r1-time\""));
    EXPECT_THAT(written(report::write_rows, run), HasSubstr("<section id=\"r1-rows\""));
    EXPECT_THAT(written(report::write_agent, run), HasSubstr("<section id=\"r1-agent\""));
    EXPECT_THAT(written(report::write_partition, run), HasSubstr("<section id=\"r1-partition\""));
    EXPECT_THAT(written(report::write_settings, run), HasSubstr("<section id=\"r1-settings\""));
}

TEST(PageSections, OfNothingSayWhatIsNotKnown) {
    const RunData none;
    EXPECT_THAT(written(report::write_learning, none), HasSubstr("No steps are recorded"));
    EXPECT_THAT(written(report::write_learning, none), HasSubstr("epochs.jsonl is missing"));
    EXPECT_THAT(written(report::write_time, none), HasSubstr("No steps are recorded"));
    EXPECT_THAT(written(report::write_rows, none), HasSubstr("No steps are recorded"));
    EXPECT_THAT(written(report::write_partition, none),
                HasSubstr("Nothing is recorded about how the graph was divided"));
    EXPECT_THAT(written(report::write_answer, none), HasSubstr("No accuracy was measured"));
    EXPECT_THAT(written(report::write_answer, none), HasSubstr("Nobody steered."));
    EXPECT_THAT(written(report::write_tiles, none), HasSubstr("not known"));
    EXPECT_EQ(written(report::write_missing, none), "");
}

TEST(PageSections, TheAnswerSaysHowTheRunStands) {
    RunData run = run_of();
    const auto answer = [&](RunStatus state) {
        run.state = state;
        return written(report::write_answer, run);
    };
    EXPECT_THAT(answer(RunStatus::finished), HasSubstr("The run finished."));
    EXPECT_THAT(answer(RunStatus::interrupted), HasSubstr("interrupted after 12 of 12 steps"));
    EXPECT_THAT(answer(RunStatus::killed), HasSubstr("The run was killed"));
    EXPECT_THAT(answer(RunStatus::running), HasSubstr("still running"));
    EXPECT_THAT(answer(RunStatus::unfinished), HasSubstr("The run has no end: 12 steps"));
    EXPECT_THAT(answer(RunStatus::failed), HasSubstr("failed after 12 of 12 steps."));
    run.run.texts["error"] = "no <space> left";
    EXPECT_THAT(answer(RunStatus::failed), HasSubstr("12 steps: no &lt;space&gt; left"));
    run.summary.numbers["stopped_early"] = 1;
    EXPECT_THAT(answer(RunStatus::finished), HasSubstr("validation no longer improved"));
}

TEST(PageSections, TheAnswerGivesNumbersTheirValues) {
    const std::string text = written(report::write_answer, run_of());
    EXPECT_THAT(text, HasSubstr("<data value=\"0.8875\">"));
    EXPECT_THAT(text, HasSubstr("<data value=\"1650\">1,650</data>"));
    EXPECT_THAT(text, HasSubstr("times the clairvoyant floor"));
    EXPECT_THAT(text, HasSubstr("fewer rows than the built-in rule"));
    EXPECT_THAT(text, HasSubstr("decided 3 times and acted 2 times"));
}

TEST(PageSections, TheFloorIsDrawnWhereItIsKnown) {
    RunData run = run_of();
    EXPECT_THAT(written(report::write_rows, run), HasSubstr("No trace, so no floor"));
    run.traced = true;
    EXPECT_THAT(written(report::write_rows, run), HasSubstr("the floor was not computed"));
    report::add_floor(run, 0, std::vector<double>(12, 5));
    const std::string text = written(report::write_rows, run);
    EXPECT_THAT(text, HasSubstr("clairvoyant floor"));
    EXPECT_THAT(text, Not(HasSubstr("No trace")));
}

TEST(PageSections, ThePartitionIsDescribed) {
    RunData run = run_of();
    std::string text = written(report::write_partition, run);
    for (const char* words : {"3 by metis", "1.010 of the mean", "1,000 vertices, 5,000 edges",
                              "width:33.33%", "width:100.00%", "part 2"})
        EXPECT_THAT(text, HasSubstr(words));
    EXPECT_THAT(text, Not(HasSubstr("part 3")));
    Json halo{{"parts", 70}, {"halo", Json(std::vector<int>(70, 1))}};
    report::add_partition(run, halo.dump());
    text = written(report::write_partition, run);
    EXPECT_THAT(text, HasSubstr("part 63"));
    EXPECT_THAT(text, HasSubstr("6 more parts are left out."));
}

TEST(PageSections, TheHaloBetweenPartsIsASquare) {
    RunData run = run_of();
    EXPECT_THAT(written(report::write_partition, run), Not(HasSubstr("halo-map")));
    Json sizes{{"part_vertices", {500, 300, 200}},
               {"part_train", {50, 30, 20}},
               {"part_edges", {2500, 1500, 1000}},
               {"halo_from", {{0, 7, 3}, {4, 0, 16}, {11, 19, 0}}}};
    report::add_partition(run, sizes.dump());
    std::string text = written(report::write_partition, run);
    for (const char* words : {"id=\"r1-halo-map\"", "of 1, from part 2: 16", "class=\"sizes s4\"",
                              "2,500", "<span>training</span>"})
        EXPECT_THAT(text, HasSubstr(words));
    // A matrix that is none is not drawn.
    report::add_partition(run, Json{{"halo_from", {{0, 7, 3}, {4, 0, 16, 9}}}}.dump());
    EXPECT_THAT(written(report::write_partition, run), Not(HasSubstr("halo-map")));
}

TEST(PageSections, RanksStandSideBySide) {
    const std::string text = written(report::write_side_by_side, run_of());
    for (const char* words :
         {"<section id=\"r1-side-by-side\"", "rank 2", "id=\"r1-rank-map\"",
          "Heat map of 3 ranks by step", "</i>computing</li>", "</i>waiting for rows</li>",
          "</i>gradients</li>", "</i>slower ranks</li>", "</i>rest</li>"})
        EXPECT_THAT(text, HasSubstr(words));
    EXPECT_THAT(text, Not(HasSubstr("</i>agent</li>"))) << "no rank waited for an agent";
    EXPECT_EQ(written(report::write_side_by_side, run_of({.ranks = 1})), "");
    // A long run of many ranks: few columns, and the page stays small.
    const RunData large = run_of({.steps = 3000, .ranks = 20, .steps_per_epoch = 1000});
    const std::string coarse = written(report::write_side_by_side, large);
    EXPECT_THAT(coarse, HasSubstr("Each column is the mean of 32 steps."));
    EXPECT_LT(coarse.size(), 150'000U);
}

TEST(PageSections, AStepIsDrawnWhereThereIsAProfile) {
    RunData run = run_of();
    EXPECT_EQ(written(report::write_step, run), "");
    run.timeline.emplace();
    run.timeline->step = 7;
    run.timeline->steps = 12;
    run.timeline->length = 2000;
    run.timeline->all_ranks = 9;
    run.timeline->ranks.push_back({3,
                                   {{"main <0>",
                                     {{"compute", "compute", 0, 500},
                                      {"reduce: start", "reduce", 100, 400},
                                      {"wait: <x>", "wait", 500, 2000}}}}});
    const std::string text = written(report::write_step, run);
    for (const char* words :
         {"Step 7, the median by length of 12 steps", "2.00\u00a0ms", "1 of 9 ranks are shown",
          "main &lt;0&gt;", "<title>compute: 500\u00a0\u00b5s</title>", "wait: &lt;x&gt;",
          "class=\"fill c2\" x=\"50.0\" y=\"6\" width=\"150.0\" height=\"8\"",
          "class=\"idle c6\" x=\"250.0\" y=\"7\" width=\"750.0\"", "the thread waits"})
        EXPECT_THAT(text, HasSubstr(words));
}

TEST(PageSections, ChangesOfTheAgentAreMarkedOnTheRows) {
    const std::string text = written(report::write_agent, run_of());
    EXPECT_THAT(text, HasSubstr("Rows fetched, and what the agent changed"));
    EXPECT_THAT(text, HasSubstr("class=\"switch\""));
    EXPECT_THAT(text, HasSubstr("class=\"rug\"")) << "the replacement at step 6";
    EXPECT_THAT(text, HasSubstr("<b>set policy window:32, window 32</b> on rank 0"));
    EXPECT_THAT(text, HasSubstr(" rows per step before, "));
}

TEST(PageSections, TheCommandCanBeTypedAgain) {
    RunData run = run_of();
    EXPECT_THAT(written(report::write_settings, run),
                HasSubstr("rudder train parts --out &#39;my run&#39;"));
    std::erase_if(run.run.texts,
                  [](const auto& fact) { return fact.first.starts_with("command"); });
    EXPECT_THAT(written(report::write_settings, run), HasSubstr("The command is not recorded"));
    run.config.clear();
    EXPECT_THAT(written(report::write_settings, run), Not(HasSubstr("class=\"command\"")));
}

TEST(PageAxes, StepsStandInTheMiddleOfTheirBuckets) {
    const RunData run = run_of({.steps = 40, .ranks = 2, .steps_per_epoch = 10});
    const ShownRun fine = shown_with(run);
    EXPECT_EQ(report::step_axis(fine).x.names.size(), 40U);
    EXPECT_EQ(report::width_note(fine), "");
    const ShownRun coarse = shown_with(run, 5);
    const report::StepAxis axis = report::step_axis(coarse);
    ASSERT_EQ(coarse.series.width, 8U);
    EXPECT_THAT(axis.x.at, testing::ElementsAre(3.5, 11.5, 19.5, 27.5, 35.5));
    EXPECT_EQ(axis.x.names.front(), "0\u20137");
    EXPECT_THAT(axis.x.marks, testing::ElementsAre(10, 20, 30));
    EXPECT_THAT(report::width_note(coarse), HasSubstr("the mean of 8 steps"));
    const report::Series line = report::hit_rate_line(coarse, axis, "hit rate", 0);
    double hit = 0;
    double remote = 0;
    for (std::uint64_t step = 8; step < 16; ++step) {
        for (std::uint64_t rank = 0; rank < 2; ++rank) {
            const Json rows = test::fake_step({.steps = 40, .ranks = 2}, step, rank).at("rows");
            hit += rows.at("hit").get<double>();
            remote += rows.at("hit").get<double>() + rows.at("demand").get<double>();
        }
    }
    EXPECT_DOUBLE_EQ(line.mean.at(1).value_or(-1), hit / remote) << "not a mean of shares";
}

TEST(PageAxes, ManyEpochsAreDrawnInGroups) {
    RunData run;
    for (std::uint64_t e = 1; e <= 100; ++e)
        run.epochs.push_back(
            {.epoch = e, .valid = e % 2 == 0 ? std::optional(double(e)) : std::nullopt});
    const ShownRun shown = shown_with(run, 16);
    const report::EpochAxis axis = report::epoch_axis(shown);
    EXPECT_EQ(axis.width, 8U);
    ASSERT_EQ(axis.x.names.size(), 13U);
    EXPECT_EQ(axis.x.names.back(), "97\u2013100");
    const auto line = report::epoch_line(shown, axis, "v", 0, &report::EpochData::valid);
    EXPECT_EQ(line.mean.at(0), 5.0) << "of 2, 4, 6 and 8";
    EXPECT_EQ(line.low.at(0), 2.0);
    EXPECT_EQ(line.high.at(0), 8.0);
    const auto none = report::epoch_line(shown, axis, "l", 0, &report::EpochData::loss);
    EXPECT_EQ(none.mean.at(0), std::nullopt);
}

TEST(PageAxes, GroupsOfRanksAreNamedByTheirEnds) {
    report::MetricsData metrics;
    metrics.ranks = 150;
    metrics.ranks_per_group = 4;
    EXPECT_EQ(report::rank_name(metrics, 0), "0\u20133");
    EXPECT_EQ(report::rank_name(metrics, 37), "148\u2013149") << "the last has fewer";
    metrics.ranks_per_group = 1;
    EXPECT_EQ(report::rank_name(metrics, 37), "37");
}

}  // namespace
}  // namespace rudder
