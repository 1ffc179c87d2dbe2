// What to try next: every rule speaks where it should, and is silent elsewhere.
#include "cli/advice.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include <gmock/gmock.h>

#include "cli/summary_text.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"

namespace rudder::cli {
namespace {

/// A run that leaves nothing to wish for.
cli::RunSigns content() {
    cli::RunSigns signs;
    signs.stall = 0.01;
    signs.compute = 0.6;
    signs.reduce = 0.1;
    signs.travelled = 0.5;
    signs.feature_share = 0.8;
    signs.float_rows = true;
    signs.buffered = true;
    signs.buffer = 0.25;
    signs.cut = 0.2;
    signs.method = "metis";
    signs.ranks = 2;
    signs.threads = 2;
    signs.cores = 4;
    signs.batch = 1000;
    signs.steps_per_epoch = 100;
    signs.train = 0.92;
    signs.valid = 0.91;
    signs.best_epoch = 8;
    signs.epochs = 10;
    signs.dropout = 0.5;
    signs.kept = true;
    signs.traced = true;
    return signs;
}

std::optional<std::string> advised(std::string_view rule, const cli::RunSigns& signs) {
    const auto rules = cli::advice_rules();
    const auto found = std::ranges::find(rules, rule, &cli::AdviceRule::name);
    EXPECT_NE(found, rules.end()) << rule;
    return found == rules.end() ? std::nullopt : found->advise(signs);
}

TEST(Advice, NothingForARunThatLeavesNothingToWishFor) {
    EXPECT_TRUE(cli::advice_for(content()).empty());
}

/// For every rule: what makes it speak, and a word of what it says.
struct Case {
    void (*change)(cli::RunSigns&);
    const char* word;
};
const std::map<std::string_view, Case> cases{
    {"harmful agent",
     {[](cli::RunSigns& s) { s.steered = true, s.excess = 0.05; },
      "--agent never: the agent fetched 5 %"}},
    {"any buffer",
     {[](cli::RunSigns& s) { s.stall = 0.3, s.buffered = false; }, "--policy window"}},
    {"larger buffer", {[](cli::RunSigns& s) { s.stall = 0.23; }, "--buffer 0.5 (it was 0.25)"}},
    {"longer window", {[](cli::RunSigns& s) { s.stall = 0.23, s.window = 4; }, "--window 8"}},
    {"shorter rows",
     {[](cli::RunSigns& s) { s.stall = 0.23; }, "--precision bfloat16: rows are 80 %"}},
    {"shared samples",
     {[](cli::RunSigns& s) { s.stall = 0.23, s.own_samples = true; },
      "--sampler shared: steps wait for rows 23 %"}},
    {"better partition",
     {[](cli::RunSigns& s) { s.stall = 0.2, s.cut = 0.7, s.method = "random"; },
      "random cut 70 %"}},
    {"fewer ranks", {[](cli::RunSigns& s) { s.reduce = 0.4, s.cores = 2; }, "fewer ranks"}},
    {"larger batch", {[](cli::RunSigns& s) { s.reduce = 0.4; }, "--batch 2000"}},
    {"shorter gradients",
     {[](cli::RunSigns& s) { s.reduce = 0.4, s.float_gradients = true; },
      "--gradient-precision bfloat16: steps wait for gradients 40 %"}},
    {"even ranks", {[](cli::RunSigns& s) { s.slower = 0.4; }, "ranks that compute longer 40 %"}},
    {"more hands", {[](cli::RunSigns& s) { s.compute = 0.9, s.threads = 1; }, "--threads 2"}},
    {"more epochs", {[](cli::RunSigns& s) { s.best_epoch = 10; }, "--epochs 20"}},
    {"less overfit",
     {[](cli::RunSigns& s) { s.train = 0.99, s.best_epoch = 3; }, "--dropout 0.7 or --patience 3"}},
    {"keep the run", {[](cli::RunSigns& s) { s.kept = false; }, "--out FOLDER"}},
    {"know the floor", {[](cli::RunSigns& s) { s.traced = false; }, "--trace"}},
};

TEST(Advice, EveryRuleSpeaksWhereItShouldAndNotElsewhere) {
    for (const cli::AdviceRule& rule : cli::advice_rules()) {
        EXPECT_FALSE(rule.advise(content())) << rule.name;
        const auto found = cases.find(rule.name);
        ASSERT_NE(found, cases.end()) << rule.name << " has no case";
        cli::RunSigns signs = content();
        found->second.change(signs);
        const auto text = rule.advise(signs);
        ASSERT_TRUE(text) << rule.name;
        EXPECT_THAT(*text, testing::HasSubstr(found->second.word));
        EXPECT_LT(text->size(), 100U) << *text;
    }
    EXPECT_EQ(cases.size(), cli::advice_rules().size());
}

TEST(Advice, IsSilentWhereItCannotHelp) {
    cli::RunSigns signs = content();
    signs.stall = 0.3;
    signs.buffer = 1;
    signs.float_rows = false;
    signs.window = 64;
    EXPECT_FALSE(advised("larger buffer", signs));
    EXPECT_FALSE(advised("shorter rows", signs));
    EXPECT_FALSE(advised("longer window", signs));
    signs.reduce = 0.5;
    signs.cores = 2;
    EXPECT_FALSE(advised("larger batch", signs)) << "the cores are what is missing";
    EXPECT_FALSE(advised("shorter gradients", signs)) << "likewise";
    signs.slower = 0.5;
    EXPECT_FALSE(advised("even ranks", signs)) << "likewise";
    signs.excess = 0.3;
    EXPECT_FALSE(advised("harmful agent", signs)) << "nobody steered";
}

TEST(Advice, IsNeverMoreThanThree) {
    std::mt19937 random(3);
    const auto share = [&] { return static_cast<double>(random() % 100) * 0.01; };
    for (int i = 0; i < 2000; ++i) {
        cli::RunSigns signs = content();
        for (double* value : {&signs.stall, &signs.compute, &signs.reduce, &signs.travelled,
                              &signs.feature_share, &signs.cut, &signs.buffer})
            *value = share();
        signs.buffered = random() % 2 == 0;
        signs.steered = random() % 2 == 0;
        signs.excess = share() - 0.5;
        signs.kept = random() % 2 == 0;
        signs.cores = static_cast<int>(1 + random() % 16);
        signs.method = random() % 2 == 0 ? "metis" : "hash";
        signs.best_epoch = random() % 11;
        EXPECT_LE(cli::advice_for(signs).size(), 3U);
    }
}

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
                       .wait_ranks = 0.2};
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
    for (const char* key : {"wait_rows", "wait_gradients", "wait_ranks"})
        old["seconds"].erase(key);
    EXPECT_EQ(train::summary_from_json(old, "here").seconds.steps.wait_rows, 0);
    EXPECT_EQ(train::summary_from_json(old, "here").seconds.steps.reduce, 3);
    old.erase("rows");
    EXPECT_THROW(static_cast<void>(train::summary_from_json(old, "here")), Error);
}

TEST(SummaryText, StartsWithTheAnswerAndEndsWithTheReport) {
    cli::RunSigns signs = content();
    const std::string text = cli::summary_text(summary(), signs, "run");
    EXPECT_THAT(text, testing::StartsWith("accuracy      test 90.00 %, valid 91.00 %"));
    EXPECT_THAT(text, testing::EndsWith("to look at    rudder report run\n"));
    EXPECT_THAT(text, testing::HasSubstr("compute 50 %, stall 30 %, gradients 15 %, rest 5 %"));
    EXPECT_THAT(text,
                testing::HasSubstr("rows 40 %, gradients on their way 4 %, slower ranks 1 %"));
    EXPECT_THAT(text, testing::HasSubstr("buffer saved  250 rows, 488.3 KiB: 62 % of what no "
                                         "buffer would fetch; fetched 1.250 times"));
    EXPECT_THAT(text, testing::HasSubstr("to try next   --agent never"));
    EXPECT_LE(std::ranges::count(text, '\n'), 20);
}

TEST(SummaryText, FitsTheTerminalAndTwentyLines) {
    cli::RunSigns signs = content();
    signs.cut = 0.7;
    signs.method = "random";
    for (std::size_t columns = 20; columns <= 200; ++columns) {
        const std::string text = cli::summary_text(summary(), signs, "run", columns);
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_TRUE(columns < 40 || line.size() < columns) << line;
        }
        EXPECT_TRUE(columns < 80 || std::ranges::count(text, '\n') <= 20) << text;
    }
}

/// A step that waits for the slowest rank's rows is told to fetch fewer, not to reduce less often.
TEST(Advice, GoesByWhatWasWaitedFor) {
    train::Summary s = summary();
    s.seconds.steps = {.step = 20, .stall = 0.1, .compute = 6, .reduce = 13, .wait_rows = 13};
    cli::RunSigns signs = content();
    cli::read_signs(s, signs);
    EXPECT_TRUE(advised("larger buffer", signs));
    EXPECT_FALSE(advised("larger batch", signs));
    s.seconds.steps.wait_rows = 0.1;
    s.seconds.steps.wait_gradients = 13;
    cli::read_signs(s, signs);
    signs.cores = 64;
    EXPECT_FALSE(advised("larger buffer", signs));
    EXPECT_TRUE(advised("larger batch", signs));
    s.seconds.steps.wait_gradients = 0;
    s.seconds.steps.wait_ranks = 13;
    cli::read_signs(s, signs);
    EXPECT_FALSE(advised("larger batch", signs));
    EXPECT_TRUE(advised("even ranks", signs));
}

TEST(SummaryText, SaysWhenTheBufferCostMoreThanItSaved) {
    train::Summary costly = summary();
    costly.rows.rows.ahead = 500;
    EXPECT_THAT(cli::summary_text(costly, {}, ""), testing::HasSubstr("buffer saved  -200 rows"));
}

}  // namespace
}  // namespace rudder::cli
