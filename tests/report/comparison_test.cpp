// Several runs on a page: what they are called, repeats, bars with spread, equal curves.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "report/page.hpp"

#include "page/sections.hpp"
#include "page/switches.hpp"
#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using report::Answers;
using report::RunData;
using report::ShownRun;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A run that is nothing but what it was, and its answers.
struct Made {
    RunData run;
    Answers answers;
};
Made made(const std::string& name, const std::string& policy, const std::string& agent = "",
          const std::string& link = "") {
    Made one;
    one.run.name = name;
    one.run.path = "/runs/" + name;
    one.answers.policy = policy;
    one.answers.agent = agent;
    one.answers.link = link;
    return one;
}
std::vector<std::string> titles(const std::vector<Made>& all) {
    std::vector<ShownRun> shown;
    for (const Made& one : all)
        shown.push_back({one.run, one.answers, {}, "", "", 1, 1, 1, one.run.name});
    return report::titles_of(shown);
}

TEST(RunTitles, SayWhatDiffers) {
    EXPECT_THAT(titles({made("a", "none"), made("b", "lru")}), ElementsAre("none", "lru"));
    EXPECT_THAT(titles({made("a", "lru", "bandit"), made("b", "lru")}),
                ElementsAre("lru + bandit", "lru"));
    EXPECT_THAT(titles({made("a", "lru", "bandit"), made("b", "none", "bandit")}),
                ElementsAre("lru", "none"))
        << "all have the same agent";
    EXPECT_THAT(titles({made("a", "lru", "", "1ms,1gbit"), made("b", "lru")}),
                ElementsAre("lru \u00b7 1ms,1gbit", "lru \u00b7 no link"));
    EXPECT_THAT(titles({made("a", "lru"), made("b", "lru")}),
                ElementsAre("lru \u00b7 a", "lru \u00b7 b"));
    EXPECT_THAT(titles({made("a", "lru"), made("a", "lru")}),
                ElementsAre("lru \u00b7 a", "lru \u00b7 a (2)"));
    EXPECT_THAT(titles({made("a", ""), made("b", "lru")}), ElementsAre("a", "lru"));
}

/// A repeat of a row of compare, whose steps took so many milliseconds on average.
RunData repeat(const test::TempDir& folder, const std::string& row, int number, double step) {
    const auto path = folder / row / fmt::format("repeat-{}", number);
    test::write_fake_run(path);
    Json card = test::fake_run_json({});
    card["repeat"] = number;
    card["repeats"] = 3;
    card["policy"] = row;
    test::write_file(path / "run.json", card.dump());
    Json summary = test::fake_summary({});
    summary["policy"] = row;
    summary["seconds"]["step"] = step * 12 * 3 / 1000;
    test::write_file(path / "summary.json", summary.dump());
    return report::read_run(path);
}

TEST(RunRepeats, StandTogetherAsTheirMedian) {
    const test::TempDir folder;
    std::vector<RunData> runs;
    for (int i = 1; i <= 3; ++i) {  // in turns
        runs.push_back(repeat(folder, "lru", i, i == 2 ? 30 : 10 + i));
        runs.push_back(repeat(folder, "none", i, 50 - 10 * i));
    }
    const auto groups = report::repeats_of(runs);
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_THAT(groups[0], ElementsAre(&runs[0], &runs[2], &runs[4]));
    EXPECT_EQ(report::settings_on_page(runs), 2U);
    const ShownRun lru = report::middle_of(groups[0]);
    EXPECT_EQ(&lru.run, &runs[4]) << "13 ms, between 11 and 30";
    EXPECT_EQ(lru.name, "lru") << "the folder of the repeats";
    const auto spread = lru.spread(&Answers::step_seconds);
    ASSERT_TRUE(spread);
    EXPECT_NEAR(spread->least, 0.011, 1e-9);
    EXPECT_NEAR(spread->median, 0.013, 1e-9);
    EXPECT_NEAR(spread->most, 0.030, 1e-9);
    EXPECT_EQ(spread->count, 3U);

    const std::string page = report::report_page(runs);
    for (const char* words :
         {"2 settings, 6 runs", "13.0\u00a0ms", "11.0\u201330.0\u00a0ms", "whisker",
          "the median of 3 runs", "id=\"all-bytes\"", "id=\"all-rows\"", "id=\"all-time\""})
        EXPECT_THAT(page, HasSubstr(words));
    EXPECT_THAT(page, Not(HasSubstr("id=\"r3-run\""))) << "a part for each setting alone";
}

TEST(RunRepeats, OfOneSettingAreAComparison) {
    const test::TempDir folder;
    const std::vector<RunData> runs{repeat(folder, "lru", 1, 10), repeat(folder, "lru", 2, 12)};
    const std::string page = report::report_page(runs);
    EXPECT_THAT(page, HasSubstr("1 setting, 2 runs"));
    EXPECT_THAT(page, HasSubstr("11.0\u00a0ms")) << "of two, the mean of both";
}

TEST(Comparison, EqualCurvesAreDrawnOnceAndSaidSo) {
    const test::TempDir folder;
    std::vector<RunData> runs;
    for (const char* policy : {"none", "lru", "window:16"}) {
        // The third has other rows and times; losses are the same in all.
        test::write_fake_run(folder / policy, {.seed = runs.size() == 2 ? 1U : 0U});
        Json summary = test::fake_summary({});
        summary["policy"] = policy;
        test::write_file(folder / policy / "summary.json", summary.dump());
        runs.push_back(report::read_run(folder / policy));
    }
    const std::string page = report::report_page(runs);
    const auto figure = [&](const std::string& id) {
        const std::size_t begin = page.find("id=\"" + id + "\"");
        return page.substr(begin, page.find("</figure>", begin) - begin);
    };
    EXPECT_THAT(figure("all-loss"), HasSubstr("The curves of all 3 are equal: drawn once."));
    EXPECT_THAT(figure("all-loss"), Not(HasSubstr("data-k=\"1\"")));
    EXPECT_THAT(figure("all-fetched"),
                HasSubstr("The curves of none and lru are equal: drawn once."));
    EXPECT_THAT(figure("all-fetched"), HasSubstr("data-k=\"1\""));
    // Columns of words, and no axis beyond all.
    EXPECT_THAT(page, HasSubstr("<th scope=\"col\" class=\"word\">Policy</th>"));
    EXPECT_THAT(page, HasSubstr("<th scope=\"col\" class=\"word\">Agent</th>"));
    EXPECT_THAT(page, Not(HasSubstr("class=\"word\">Link</th>"))) << "no run has one";
    EXPECT_THAT(page, Not(HasSubstr("class=\"word\">State</th>"))) << "all have finished";
    EXPECT_THAT(figure("all-accuracy"), Not(HasSubstr(">120 %<")));
}

/// A change of a rank that held from a step on.
report::DecisionText change(std::uint64_t step, std::uint32_t rank, const std::string& action) {
    report::DecisionText text;
    text.step = step;
    text.effective_step = step;
    text.rank = rank;
    text.action = action;
    text.status = "applied";
    return text;
}

TEST(Switches, SayWhatTheRanksFetchedBeforeAndAfter) {
    RunData run;
    run.metrics.ranks = 2;
    run.metrics.last_step = 99;
    report::RankSeries& series = run.metrics.rank_series;
    series.groups = 2;
    for (int step = 0; step < 100; ++step) {
        // Rank 0 fetches 10 rows a step, from step 40 on 4; rank 1 always 100.
        series.cells.push_back({0, step < 40 ? 10.0 : 4.0, 1});
        series.cells.push_back({0, 100, 1});
    }
    run.decisions.notable = {change(40, 0, "set window 32"), change(60, 0, "keep"),
                             change(80, 1, "set policy lru"), change(81, 0, "set policy lru")};
    run.decisions.notable.push_back(change(50, 1, "set window 8"));
    run.decisions.notable.back().status = "refused";
    const auto switches = report::switches_of(run);
    ASSERT_EQ(switches.size(), 2U) << "the last two are one, what was refused is none";
    EXPECT_EQ(switches[0].step, 40U);
    EXPECT_THAT(switches[0].ranks, ElementsAre(0));
    EXPECT_DOUBLE_EQ(switches[0].before.value_or(-1), 10);
    EXPECT_DOUBLE_EQ(switches[0].after.value_or(-1), 4) << "until the next change";
    EXPECT_THAT(switches[1].ranks, ElementsAre(0, 1));
    EXPECT_DOUBLE_EQ(switches[1].before.value_or(-1), 104) << "both together";
    EXPECT_EQ(report::ranks_text(switches[1].ranks), "ranks 0 and 1");
    EXPECT_EQ(report::ranks_text({3}), "rank 3");
    EXPECT_EQ(report::ranks_text({0, 1, 2, 3, 4, 5, 6}), "7 ranks");
}

}  // namespace
}  // namespace rudder
