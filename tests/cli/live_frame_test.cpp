// The lines of the live view: never too wide, whatever they show and wherever.
#include "cli/live_frame.hpp"

#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cli/live_state.hpp"

namespace rudder::cli {
namespace {

cli::LiveFacts some_facts(std::mt19937& random) {
    const auto number = [&](std::uint64_t below) { return std::uint64_t{random()} % below; };
    cli::LiveFacts facts;
    facts.title = number(2) == 0 ? "" : "scored-faithful,every:4 + bandit (3 of 10) \x1b[31m語 é";
    facts.steps = 1 + number(1'000'000'000);
    facts.steps_done = number(facts.steps + 1);
    facts.epoch = static_cast<std::uint32_t>(number(1000));
    facts.epochs = static_cast<std::uint32_t>(number(2) * 1000);
    facts.seconds_left = static_cast<double>(number(1'000'000));
    facts.loss = static_cast<double>(number(1000)) * 0.01;
    for (std::uint64_t i = number(25); i > 0; --i)
        facts.losses.push_back(static_cast<double>(number(100)));
    if (number(2) == 0) facts.valid = 0.9134;
    facts.ranks = static_cast<int>(1 + number(64));
    facts.rows.local = number(100'000'000);
    facts.rows.hit = number(100'000'000);
    facts.rows.demand = number(100'000'000);
    facts.rows.needed = facts.rows.local + facts.rows.hit + facts.rows.demand;
    facts.rows.ahead = number(100'000);
    facts.bytes_per_second = static_cast<double>(number(1'000'000'000'000));
    facts.stall = 0.34;
    if (number(2) == 0)
        facts.decision =
            "bandit: policy window:32, capacity 1000 (more) at step 12: 3.1 % fewer rows";
    return facts;
}

TEST(LiveFrame, IsNeverAsWideAsTheScreenNorHigher) {
    std::mt19937 random(7);
    for (std::size_t columns = 20; columns <= 200; ++columns) {
        for (int round = 0; round < 8; ++round) {
            const cli::ScreenLook look{columns, 2 + random() % 10, random() % 2 == 0,
                                       random() % 2 == 0};
            const auto lines = cli::live_frame(some_facts(random), look);
            ASSERT_GE(lines.size(), 1U);
            EXPECT_LT(lines.size(), look.rows);
            EXPECT_LE(lines.size(), 5U);
            for (const std::string& line : lines) {
                EXPECT_LT(cli::columns_of(line), columns) << line;
                EXPECT_EQ(line.find('\n'), std::string::npos);
                EXPECT_TRUE(look.colour || line.find('\x1b') == std::string::npos) << line;
                if (look.utf8) continue;
                EXPECT_TRUE(std::ranges::all_of(line, [](char c) {
                    return static_cast<unsigned char>(c) < 0x80;
                })) << line;
            }
        }
    }
}

TEST(LiveFrame, EvenOnTheNarrowestScreen) {
    std::mt19937 random(8);
    for (std::size_t columns = 1; columns < 20; ++columns) {
        for (const std::string& line :
             cli::live_frame(some_facts(random), {columns, 24, true, false}))
            EXPECT_LT(cli::columns_of(line), std::max<std::size_t>(columns, 1)) << columns;
    }
}

TEST(LiveFrame, ShowsWhatMatters) {
    cli::LiveFacts facts;
    facts.steps = 200;
    facts.steps_done = 50;
    facts.epoch = 1;
    facts.epochs = 4;
    facts.seconds_left = 75;
    facts.loss = 0.5;
    facts.valid = 0.875;
    facts.ranks = 2;
    facts.rows = {.needed = 100, .local = 50, .hit = 30, .demand = 20, .ahead = 10};
    facts.bytes_per_second = 12.34e6;
    facts.stall = 0.2;
    facts.decision = "bandit: window 32";
    const auto lines = cli::live_frame(facts, {100, 24, false, false});
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_EQ(lines[0], "epoch 2/4  [======                   ]   25 %  step 50/200  ETA 1:15");
    EXPECT_EQ(lines[1], "loss  0.5000  valid 87.50 %  after epoch 1");
    EXPECT_EQ(
        lines[2],
        "rows  ########+++++...  local 50 %  hit 30 %  demand 20 %  ahead 10 %  (rank 0 of 2)");
    EXPECT_EQ(lines[3], "speed  0.0 steps/s  12.3 MB/s  stall 20 %  hit rate 60 %");
    EXPECT_EQ(lines[4], "agent bandit: window 32");
    // Narrow: what matters least has gone.
    EXPECT_EQ(cli::live_frame(facts, {24, 24, false, false})[0], "epoch 2/4   25 %");
}

TEST(LiveFrame, ColumnsOfTexts) {
    EXPECT_EQ(cli::columns_of("abc"), 3U);
    EXPECT_EQ(cli::columns_of("é語🙂"), 5U);
    EXPECT_EQ(cli::columns_of("e\u0301"), 1U);
    EXPECT_EQ(cli::columns_of("\x1b[31mred\x1b[0m"), 3U);
    EXPECT_EQ(cli::cut_to("é語🙂x", 4, true), "é語…");
    EXPECT_EQ(cli::cut_to("abcdef", 4, false), "abc~");
    EXPECT_EQ(cli::cut_to("abc", 3, false), "abc");
    EXPECT_EQ(cli::shown_text("a\x1b[2Jb\tc\r\n", true), "a [2Jb c  ");
    EXPECT_EQ(cli::shown_text("é\xff", false), "??");
}

TEST(LiveFrame, DecisionsInAFewWords) {
    steer::DecisionRecord record;
    record.step = 48;
    record.agent = "bandit";
    record.action =
        steer::Action::set({{steer::KnobId::window, 32.0}}, steer::Reason::shadow_better);
    record.outcome = {.steps = 16, .rows = 90, .alternative = 100};
    record.alternative = steer::Action::keep();
    EXPECT_EQ(cli::decision_text(record),
              "bandit: window 32 (shadow_better) at step 48: 10.0 % fewer rows than otherwise");
    record = {};
    record.step = 4;
    record.agent = "llm";
    record.action = steer::Action::replace(steer::Reason::none, 0.5);
    record.status = steer::DecisionStatus::late;
    EXPECT_EQ(cli::decision_text(record),
              "llm: replace 50 % at step 4, late: effect not known yet");
}

TEST(LiveState, ShowsTheLastSecondsAndTheTimeLeft) {
    using std::chrono::milliseconds;
    const auto start = cli::LiveState::Clock::now();
    cli::LiveState state("", 2, 1, start);
    train::StepRecord record;
    record.seconds.step = 0.1;
    record.seconds.stall = 0.02;
    record.rows = {.needed = 10, .local = 4, .hit = 3, .demand = 3};
    record.bytes.features = 1000;
    for (int i = 0; i < 100; ++i) {
        record.step = static_cast<std::uint64_t>(i);
        record.loss = static_cast<float>(100 - i);
        state.step(record, 200, start + milliseconds(100 * (i + 1)));
    }
    const cli::LiveFacts facts = state.facts(start + milliseconds(10'000));
    EXPECT_EQ(facts.steps_done, 100U);
    EXPECT_NEAR(facts.seconds_left, 10, 1e-6);
    EXPECT_NEAR(facts.steps_per_second, 10, 1);
    EXPECT_NEAR(facts.bytes_per_second, 10'000, 1000);
    EXPECT_NEAR(facts.stall, 0.2, 1e-9);
    EXPECT_LE(facts.rows.needed, 10U * 41) << "four seconds at most";
    EXPECT_GE(facts.losses.size(), 12U);
    EXPECT_LE(facts.losses.size(), 24U);
    EXPECT_TRUE(std::ranges::is_sorted(facts.losses, std::greater<>{}));
}

TEST(LiveState, TheLastDecisionThatChangedSomethingIsShown) {
    cli::LiveState state("", 1, 1, cli::LiveState::Clock::now());
    const auto line = [](const steer::Action& action, std::uint64_t step) {
        steer::DecisionRecord record;
        record.step = step;
        record.action = action;
        return record;
    };
    const auto keep = steer::Action::keep();
    const auto replace = steer::Action::replace(steer::Reason::none);
    state.decisions(std::vector{line(keep, 1), line(replace, 2), line(keep, 3)});
    EXPECT_THAT(state.facts(cli::LiveState::Clock::now()).decision,
                testing::HasSubstr("replace at step 2"));
    state.decisions(std::vector{line(keep, 4), line(keep, 5)});
    EXPECT_THAT(state.facts(cli::LiveState::Clock::now()).decision,
                testing::HasSubstr("keep at step 5"));
}

TEST(PassedTerminal, ReadsWhatItWrites) {
    for (const cli::PassedTerminal& terminal : {cli::PassedTerminal{120, 40, true, "/dev/pts/3"},
                                                cli::PassedTerminal{80, 24, false, ""}}) {
        const auto back = cli::PassedTerminal::parse(terminal.text());
        ASSERT_TRUE(back);
        EXPECT_EQ(back->text(), terminal.text());
    }
    for (const char* text : {"", "1", "x", "0x0 /dev/tty", "ax2", "80x"})
        EXPECT_FALSE(cli::PassedTerminal::parse(text)) << text;
}

}  // namespace
}  // namespace rudder::cli
