// The closing lines of a run, and the summary they are made from.
#include "cli/summary_text.hpp"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"

namespace rudder::cli {
namespace {

/// A whole summary, all of whose lines are shown.
train::Summary summary() {
    train::Summary s;
    s.best_epoch = 3;
    s.epochs = 3;
    s.steps = 120;
    s.steps_per_epoch = 40;
    s.ranks = 2;
    s.accuracy = {.train = 0.92, .valid = 0.91, .test = 0.9};
    s.accuracy_last = s.accuracy;
    s.seconds = {.total = 12, .epoch = 3.9, .cpu = 20};
    s.seconds.steps = {.step = 20,
                       .sample = 1,
                       .fetch = 8,
                       .stall = 6,
                       .compute = 10,
                       .reduce = 3,
                       .wait_rows = 8,
                       .wait_gradients = 0.8,
                       .wait_ranks = 0.2,
                       .rest = 1};
    s.rows.rows = {.needed = 1000, .local = 600, .hit = 300, .demand = 100, .ahead = 50};
    s.rows.floor = 120;
    s.bytes.received_total = 400000;
    s.bytes.kinds.features = 300000;
    s.bytes.kinds.gradients = 50000;
    s.row_bytes = 2000;
    s.buffer_rows = 100;
    s.policy = "window:16";
    s.topology = "replicated";
    s.precision = "native";
    s.steps_ahead = 16;
    s.loss = {2.3, 0.5, "00ff"};
    s.agent.name = "bandit";
    s.agent.decisions = 5;
    s.agent.applied = 2;
    s.agent.late = 1;
    s.agent.excess = 0.1;
    s.agent.cpu_share = 0.003;
    s.agent.breaker_openings = 2;
    return s;
}

report::Finding finding() {
    report::Finding limit;
    limit.cause = "no buffer";
    limit.text = "No buffer: all rows travel.";
    limit.change = "--policy window";
    return limit;
}

TEST(Summary, IsReadAsItWasWritten) {
    const Json json = to_json(summary());
    EXPECT_EQ(to_json(train::summary_from_json(json, "here")), json);
    Json old = json;  // of a version that knew `excess` as `regret`
    for (const char* key : {"excess", "regret_error", "regret_against"})
        old["agent"].erase(key);
    old["agent"]["regret"] = 0.1;
    EXPECT_EQ(train::summary_from_json(old, "here").agent.excess, 0.1);
    EXPECT_EQ(train::summary_from_json(old, "here").agent.regret, std::nullopt);
    // ... and did not tell what was waited for.
    for (const char* key : {"wait_rows", "wait_gradients", "wait_ranks", "wait_agent", "rest"})
        old["seconds"].erase(key);
    EXPECT_EQ(train::summary_from_json(old, "here").seconds.steps.wait_rows, 0);
    EXPECT_EQ(train::summary_from_json(old, "here").seconds.steps.reduce, 3);
    old.erase("rows");
    EXPECT_THROW(static_cast<void>(train::summary_from_json(old, "here")), Error);
}

TEST(SummaryText, StartsWithTheAnswerAndEndsWithTheReport) {
    const std::string text = cli::summary_text(summary(), finding(), "run");
    EXPECT_THAT(text, testing::StartsWith("accuracy      test 90.00 %, valid 91.00 %"));
    EXPECT_THAT(text, testing::EndsWith("to look at    rudder explain run, rudder report run\n"));
    EXPECT_THAT(text, testing::HasSubstr("ms: computing 50 %, waiting for rows 40 % ("));
    EXPECT_THAT(text, testing::HasSubstr("gradients 4 %, slower ranks 1 %, rest 5 %"));
    EXPECT_THAT(text, testing::HasSubstr("buffer saved  250 rows, 488.3 KiB: 62 % of what no "
                                         "buffer would fetch; fetched 1.250 times"));
    EXPECT_THAT(text, testing::HasSubstr("limited by    No buffer: all rows travel.\n"
                                         "to try next   --policy window\n"));
    EXPECT_LE(std::ranges::count(text, '\n'), 20);
}

TEST(SummaryText, FitsTheTerminalAndTwentyLines) {
    report::Finding limit = finding();
    limit.text =
        "No buffer: all 12,345 remote rows of a step travel every time, and steps wait 12.34 ms "
        "for "
        "them.";
    for (std::size_t columns = 20; columns <= 200; ++columns) {
        const std::string text = cli::summary_text(summary(), limit, "run", columns);
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_TRUE(columns < 40 || line.size() < columns) << line;
        }
        EXPECT_TRUE(columns < 80 || std::ranges::count(text, '\n') <= 20) << text;
    }
}

/// Nothing limits it, and nothing is kept: how to keep it is said.
TEST(SummaryText, SaysNothingOfLimitsThatWereNotFound) {
    const std::string text = cli::summary_text(summary(), std::nullopt, "");
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("limited by")));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("to try next")));
    EXPECT_THAT(text, testing::HasSubstr("to keep it    --out FOLDER"));
}

/// Of a version that did not divide waits: stall is waiting for rows, and nothing is lost.
TEST(SummaryText, ShowsOlderRunsByTheSameWords) {
    train::Summary old = summary();
    old.seconds.steps = {.step = 20, .stall = 6, .compute = 10, .reduce = 3};
    EXPECT_THAT(cli::summary_text(old, std::nullopt, ""),
                testing::HasSubstr("computing 50 %, waiting for rows 30 % (25.00 ms), gradients 15 "
                                   "%, rest 5 %"));
}

TEST(SummaryText, SaysWhenTheBufferCostMoreThanItSaved) {
    train::Summary costly = summary();
    costly.rows.rows.ahead = 500;
    EXPECT_THAT(cli::summary_text(costly, std::nullopt, ""),
                testing::HasSubstr("buffer saved  -200 rows"));
    train::Summary idle = summary();
    idle.agent.excess = 0;
    EXPECT_THAT(cli::summary_text(idle, std::nullopt, ""),
                testing::HasSubstr("no effect: as many rows as the built-in rule"));
}

TEST(SummaryText, AnswersThatChangedNothingAreNotCorrect) {
    train::Summary s = summary();
    s.agent.late = 0;
    s.agent.judged = 8;
    s.agent.correct = 0.75;
    s.agent.no_effect = 4;
    s.agent.better = 0.5;
    const auto text = [&] { return cli::summary_text(s, std::nullopt, "", 400); };
    EXPECT_THAT(text(), testing::HasSubstr(
                            "50 % of 4 better than otherwise, 4 of 8 judged without effect"));
    EXPECT_THAT(text(), testing::Not(testing::HasSubstr("75 %")));
    s.agent.no_effect = 8;
    s.agent.better.reset();
    EXPECT_THAT(text(), testing::HasSubstr(", 8 of 8 judged without effect"));
    EXPECT_THAT(text(), testing::Not(testing::HasSubstr("better than otherwise")));
    s.agent.no_effect.reset();  // of an earlier version
    EXPECT_THAT(text(), testing::Not(testing::HasSubstr("without effect")));
}

}  // namespace
}  // namespace rudder::cli
