// The page: well-formed, self-contained, small, and never running what a run is called.
#include "report/page.hpp"

#include <regex>
#include <set>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "core/step_time.hpp"
#include "rudder/core/file.hpp"

#include "run_writer.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using test::FakeRun;
using test::TempDir;
using test::write_fake_run;
using test::write_file;
using testing::HasSubstr;
using testing::Not;

/// A page as the checker beside this file finds it: nothing on standard output is fine.
std::string complaints(const TempDir& folder, const std::string& page) {
    write_file(folder / "page.html", page);
    const auto checked = test::run({"python3", RUDDER_SOURCE_DIR "/tests/report/check_page.py",
                                    (folder / "page.html").string()});
    return checked.out + checked.err;
}

std::string page_of(const std::filesystem::path& folder) {
    const std::vector<report::RunData> runs{[&] { return report::read_run(folder); }()};
    return report::report_page(runs);
}

TEST(ReportPage, IsWellFormedAndSelfContained) {
    const TempDir folder;
    write_fake_run(folder / "run");
    const std::string page = page_of(folder / "run");
    EXPECT_EQ(complaints(folder, page), "");
    for (const char* words :
         {"88.8\u00a0%", "12.5\u00a0s", "The run finished.", "set policy window:32, window 32",
          "Feature bytes by owner", "rudder train parts --out &#39;my run&#39;",
          "shadow better: tried something: took it", "Numbers", "1.010 of the mean"})
        EXPECT_THAT(page, HasSubstr(words));
}

/// A run that waited so long for rows in each step; without the division, as earlier versions
/// wrote.
void write_waiting_run(const std::filesystem::path& folder, bool divided) {
    const FakeRun run{.steps = 20, .ranks = 2, .steps_per_epoch = 10};
    write_fake_run(folder, run);
    std::string text;
    for (std::uint64_t line = 0; line < run.steps * run.ranks; ++line) {
        Json step = test::fake_step(run, line / run.ranks, line % run.ranks);
        Json& seconds = step.at("seconds");
        seconds["stall"] = 0.0417;
        seconds["wait_rows"] = 0.0923;
        for (const char* key : {"wait_rows", "wait_gradients", "wait_ranks", "wait_agent", "rest"})
            if (!divided) seconds.erase(key);
        text += step.dump() + "\n";
    }
    write_file(folder / "metrics.jsonl", text);
}

TEST(ReportPage, PartsOfAStepAreASentence) {
    const TempDir folder;
    const FakeRun run{.steps = 20, .ranks = 2, .steps_per_epoch = 10};
    for (const double agent : {0.0, 0.003}) {
        write_fake_run(folder / "run", run);
        std::filesystem::remove(folder / "run/summary.json");
        std::string text;
        for (std::uint64_t line = 0; line < run.steps * run.ranks; ++line) {
            Json step = test::fake_step(run, line / run.ranks, line % run.ranks);
            step.at("seconds").update({{"step", 0.1},
                                       {"compute", 0.04},
                                       {"wait_rows", 0.03},
                                       {"wait_gradients", 0.01},
                                       {"wait_ranks", 0.01},
                                       {"wait_agent", agent},
                                       {"rest", 0.01 - agent}});
            text += step.dump() + "\n";
        }
        write_file(folder / "run/metrics.jsonl", text);
        const std::string page = page_of(folder / "run");
        const std::size_t begin = page.find("Of a step");
        ASSERT_NE(begin, std::string::npos);
        const std::string said =
            std::regex_replace(page.substr(begin, 1500), std::regex("<[^>]*>|\u00a0"), "");
        const char* const wanted =
            agent > 0 ? "waiting for gradients, [0-9.]+% waiting for slower ranks, "
                        "[0-9.]+% waiting for the agent and [0-9.]+% the rest\\. "
                      : "waiting for gradients, [0-9.]+% waiting for slower ranks and "
                        "[0-9.]+% the rest\\. ";
        EXPECT_TRUE(std::regex_search(said, std::regex(wanted))) << said;
    }
}

TEST(ReportPage, WaitingForRowsIsOneFigureEverywhere) {
    const TempDir folder;
    write_waiting_run(folder / "now", true);
    write_waiting_run(folder / "earlier", false);
    for (const bool divided : {true, false}) {
        const std::string page = page_of(folder / (divided ? "now" : "earlier"));
        EXPECT_THAT(page, HasSubstr("Waiting for rows alone"));
        EXPECT_THAT(page, Not(HasSubstr("tall alone")));
        EXPECT_THAT(page, HasSubstr(divided ? "92.3" : "41.7"));
        EXPECT_THAT(page, Not(HasSubstr(divided ? "41.7" : "92.3")));
        for (const StepPart& part : step_parts)
            EXPECT_THAT(page, HasSubstr(std::string(part.words) + " s<")) << "by rank";
    }
    const std::vector runs{report::read_run(folder / "now"), report::read_run(folder / "earlier")};
    const std::string both = report::report_page(runs);
    EXPECT_THAT(both, HasSubstr("Waiting for rows, step by step"));
    EXPECT_THAT(both, HasSubstr("92.3"));
    EXPECT_THAT(both, HasSubstr("41.7"));
}

TEST(ReportPage, WithoutAnyOneFileItIsStillAPage) {
    for (const char* name : {"metrics.jsonl", "decisions.jsonl", "epochs.jsonl", "summary.json",
                             "run.json", "config.toml"}) {
        const TempDir folder;
        write_fake_run(folder / "run");
        std::filesystem::remove(folder / "run" / name);
        const std::string page = page_of(folder / "run");
        EXPECT_EQ(complaints(folder, page), "") << name;
        EXPECT_THAT(page, HasSubstr("What is missing"));
    }
}

TEST(ReportPage, OfARunWithNothingButItsSummary) {
    const TempDir folder;
    std::filesystem::create_directories(folder / "run");
    write_file(folder / "run" / "summary.json", test::fake_summary({}).dump());
    const std::string page = page_of(folder / "run");
    EXPECT_EQ(complaints(folder, page), "");
    EXPECT_THAT(page, HasSubstr("88.8"));
}

TEST(ReportPage, OfARunThatHasJustBegun) {
    const TempDir folder;
    std::filesystem::create_directories(folder / "run");
    write_file(folder / "run" / "metrics.jsonl", "");
    EXPECT_EQ(complaints(folder, page_of(folder / "run")), "");
    write_file(folder / "run" / "metrics.jsonl", test::fake_step({}, 0, 0).dump() + "\n{\"st");
    const std::string page = page_of(folder / "run");
    EXPECT_EQ(complaints(folder, page), "");
    EXPECT_THAT(page, HasSubstr("ends in the middle of a line"));
}

TEST(ReportPage, NamesAreShownAndNeverRun) {
    const TempDir folder;
    const std::string hostile =
        "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&amp;\xf0\x9f\x9a\xa2";
    const std::string name = "run <b onmouseover=\"alert(1)\">'`& \xf0\x9f\x9a\xa2";
    FakeRun run;
    run.name = hostile;
    write_fake_run(folder / name, run);
    Json summary = test::fake_summary(run);
    summary["model"] = hostile;
    summary["policy"] = hostile + "\xff\x80 \xe2\x80\xae";
    summary["agent"]["name"] = hostile;
    summary[hostile] = hostile;
    write_file(folder / name / "summary.json",
               summary.dump(-1, ' ', false, Json::error_handler_t::replace));
    Json started = test::fake_run_json(run);
    started["error"] = hostile;
    started["state"] = "failed";
    started["host"] = hostile;
    started["partition"]["method"] = hostile;
    started["command"] = {"rudder", "train", hostile, "$(reboot)"};
    write_file(folder / name / "run.json", started.dump());
    write_file(folder / name / "config.toml", hostile + "\n\x01\x02");
    Json decision = test::fake_decision(3, 1, "set", false);
    decision["reason"] = hostile;
    decision["note"] = hostile;
    decision["problem"] = hostile;
    decision["status"] = hostile;
    decision["agent"] = hostile;
    decision["action"]["knobs"] = {{hostile, hostile}};
    write_file(folder / name / "decisions.jsonl", decision.dump() + "\n");
    const std::string page = page_of(folder / name);
    EXPECT_EQ(complaints(folder, page), "");
    EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, Not(HasSubstr("<b onmouseover")));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
    EXPECT_THAT(page, HasSubstr("\xf0\x9f\x9a\xa2"));
    EXPECT_THAT(page, Not(HasSubstr("\xe2\x80\xae")));
    EXPECT_THAT(page, HasSubstr("&#39;$(reboot)&#39;"));
}

TEST(ReportPage, SeveralRunsStandSideBySide) {
    const TempDir folder;
    std::vector<report::RunData> runs;
    for (const char* name : {"one", "two", "sub/one"}) {
        write_fake_run(folder / name, {.steps = runs.empty() ? 1200U : 900U, .seed = runs.size()});
        runs.push_back(report::read_run(folder / name));
    }
    const std::string page = report::report_page(runs);
    EXPECT_EQ(complaints(folder, page), "");
    EXPECT_THAT(page, HasSubstr("Side by side"));
    EXPECT_THAT(page, HasSubstr("id=\"r3-loss\""));
    EXPECT_THAT(page, HasSubstr("id=\"all-fetched\""));
}

TEST(ReportPage, StaysUnderTwoMegabytes) {
    const TempDir folder;
    std::vector<report::RunData> runs;
    write_fake_run(folder / "run", {.steps = 3000, .ranks = 2, .steps_per_epoch = 10});
    std::string decisions;
    for (std::uint64_t step = 0; step < 3000; ++step) {
        Json line =
            test::fake_decision(step, step % 2, step % 3 == 0 ? "set" : "replace", step % 2 == 0);
        line["note"] = std::string(3000, 'x');
        decisions += line.dump() + "\n";
    }
    write_file(folder / "run" / "decisions.jsonl", decisions);
    write_file(folder / "run" / "config.toml", std::string(200000, '<'));
    for (std::size_t i = 0; i < report::most_page_runs; ++i)
        runs.push_back(report::read_run(folder / "run"));
    const std::string one = report::report_page(std::span(runs).first(1));
    EXPECT_LT(one.size(), report::most_page_bytes);
    EXPECT_EQ(complaints(folder, one), "");
    const std::string all = report::report_page(runs);
    EXPECT_LT(all.size(), report::most_page_bytes);
    EXPECT_EQ(complaints(folder, all), "");
}

TEST(ReportPage, TheFloorIsDrawnWhereItIsKnown) {
    const TempDir folder;
    write_fake_run(folder / "run");
    report::RunData run = report::read_run(folder / "run");
    EXPECT_THAT(report::report_page(std::span(&run, 1)), HasSubstr("train with --trace"));
    report::add_floor(run, 0, std::vector<double>(12, 110.0));
    const std::string page = report::report_page(std::span(&run, 1));
    EXPECT_THAT(page, HasSubstr("clairvoyant floor"));
    EXPECT_THAT(page, HasSubstr("1.250\u00d7"));  // 1,650 rows over 1,320
}

}  // namespace
}  // namespace rudder
