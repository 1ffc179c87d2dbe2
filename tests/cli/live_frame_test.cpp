// The lines of the live view: never too wide, whatever they show and wherever.
#include "cli/live_frame.hpp"

#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "cli/frame_parts.hpp"

namespace rudder::cli {
namespace {

using report::RankPace;
using report::Standing;

Standing some_standing(std::mt19937& random) {
    const auto number = [&](std::uint64_t below) { return std::uint64_t{random()} % below; };
    Standing s;
    s.name = number(2) == 0 ? "" : "scored-faithful,every:4 + bandit (3 of 10) \x1b[31m語 é";
    s.state = number(4) == 0 ? "interrupted" : "running";
    s.steps = 1 + number(1'000'000'000);
    s.step = number(s.steps + 1);
    s.epoch = number(1000);
    s.epochs = number(2) * 1000;
    if (number(3) != 0) s.seconds_left = static_cast<double>(number(1'000'000));
    if (number(3) != 0) s.loss = static_cast<double>(number(1000)) * 0.01;
    for (std::uint64_t i = number(97); i > 0; --i)
        s.losses.push_back(static_cast<double>(number(100)));
    if (number(2) == 0) s.valid = 0.9134;
    s.ranks = 1 + number(64);
    for (std::uint64_t r = 0; r < (number(2) == 0 ? s.ranks : 1); ++r) {
        s.by_rank.push_back({.rank = r,
                             .step_seconds = static_cast<double>(number(100'000)) * 0.01,
                             .compute_seconds = static_cast<double>(number(10'000)) * 0.01,
                             .stall_seconds = static_cast<double>(number(10'000)) * 0.01,
                             .bytes_per_second = static_cast<double>(number(1'000'000'000'000)),
                             .hit_rate = 0.5,
                             .wait_rows_seconds = static_cast<double>(number(20'000)) * 0.01,
                             .wait_gradients_seconds = static_cast<double>(number(10'000)) * 0.01,
                             .wait_ranks_seconds = static_cast<double>(number(10'000)) * 0.01,
                             .wait_agent_seconds = static_cast<double>(number(2)) * 0.01,
                             .rest_seconds = static_cast<double>(number(1000)) * 0.01});
    }
    s.rows.local = number(100'000'000);
    s.rows.hit = number(100'000'000);
    s.rows.demand = number(100'000'000);
    s.rows.needed = s.rows.local + s.rows.hit + s.rows.demand;
    s.rows.ahead = number(100'000);
    s.bytes_per_second = static_cast<double>(number(1'000'000'000'000));
    s.wait_rows = 0.34;
    s.agent = number(3) == 0 ? "never" : "bandit";
    s.policy = "window:16";
    s.decisions = number(100);
    if (number(2) == 0) {
        s.decision = {.step = 12,
                      .rank = 0,
                      .agent = "bandit",
                      .action = "policy window:32, capacity 1000",
                      .reason = "shadow_better",
                      .effect = "3.1 % fewer rows than otherwise",
                      .fewer_rows = 0.031};
    }
    return s;
}

TEST(LiveFrame, IsNeverAsWideAsTheScreenNorHigher) {
    std::mt19937 random(7);
    for (std::size_t columns = 20; columns <= 200; ++columns) {
        for (int round = 0; round < 8; ++round) {
            const ScreenLook look{columns, 2 + random() % 50, random() % 2 == 0, random() % 2 == 0};
            const auto lines = live_frame(some_standing(random), look);
            ASSERT_GE(lines.size(), 1U);
            EXPECT_LT(lines.size(), look.rows);
            for (const std::string& line : lines) {
                EXPECT_LT(columns_of(line), columns) << line;
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
             live_frame(some_standing(random), {columns, 24, true, false}))
            EXPECT_LT(columns_of(line), std::max<std::size_t>(columns, 1)) << columns;
    }
}

/// A run of four ranks, one of which is slow: the others wait for it, two of them not only.
Standing four_ranks() {
    Standing s;
    s.step = 50;
    s.steps = 200;
    s.epoch = 2;
    s.epochs = 4;
    s.seconds_left = 75;
    s.loss = 0.5;
    for (int i = 0; i < 12; ++i)
        s.losses.push_back(12 - i);
    s.valid = 0.875;
    s.valid_epoch = 1;
    s.policy = "window:32";
    s.agent = "bandit";
    s.decisions = 6;
    s.applied = 1;
    s.decision = {.step = 32,
                  .rank = 0,
                  .agent = "bandit",
                  .action = "policy window:32",
                  .reason = "shadow_better",
                  .effect = "10.0 % fewer rows than otherwise",
                  .fewer_rows = 0.1};
    s.ranks = 4;
    s.steps_per_second = 50;
    s.bytes_per_second = 12.34e6;
    s.wait_rows = 0.2;
    s.rows = {.needed = 100, .local = 50, .hit = 30, .demand = 20, .ahead = 10};
    for (std::uint64_t r = 0; r < 4; ++r) {
        s.by_rank.push_back({.rank = r,
                             .step_seconds = 0.02,
                             .compute_seconds = r == 2 ? 0.016 : 0.008,
                             .stall_seconds = 0.004,
                             .bytes_per_second = 3e6,
                             .hit_rate = 0.6,
                             .wait_rows_seconds = 0.004,
                             .wait_ranks_seconds = r == 2 ? 0 : 0.008});
        if (r % 2 == 0) continue;
        RankPace& rank = s.by_rank.back();
        for (double RankPace::*part :
             {&RankPace::wait_gradients_seconds, &RankPace::wait_ranks_seconds,
              &RankPace::wait_agent_seconds, &RankPace::rest_seconds})
            rank.*part = 0.002;
    }
    return s;
}

using Lines = std::vector<std::string>;

constexpr const char* fast_0 = "    0 ####!!====   12.0 ms   3.0 MB/s";
constexpr const char* fast_1 = "    1 ####!!~=?.   12.0 ms   3.0 MB/s";
constexpr const char* slow_2 = "    2 ########!!   20.0 ms   3.0 MB/s";
constexpr const char* fast_3 = "    3 ####!!~=?.   12.0 ms   3.0 MB/s";

std::string beside(std::initializer_list<const char*> cells) {
    return fmt::format("{}", fmt::join(cells, "   "));
}

TEST(LiveFrame, Captured80x24) {
    EXPECT_EQ(live_frame(four_ranks(), {80, 24, false, false}),
              (Lines{"epoch 2/4  [=====               ]   25 %  step 50/200  ETA 1:15",
                     "loss  0.5000  #^^=~~--,.._  valid 87.50 %  after epoch 1",
                     "rows  #######++++..  local 50 %  hit 30 %  demand 20 %  ahead 10 %",
                     "time  # computing 50 %  ! waiting for rows 20 %  = slower ranks 15 %",
                     "speed  50.0 steps/s  12.3 MB/s  hit rate 60 %  policy window:32",
                     "agent bandit: policy window:32  at step 32  10.0 % fewer rows than otherwise",
                     "ranks  mean 14.0 ms  #####!!~=?  slowest 2 20.0 ms  ########!!",
                     beside({fast_0, slow_2}), beside({fast_1, fast_3})}));
}

TEST(LiveFrame, Captured200x50) {
    EXPECT_EQ(live_frame(four_ranks(), {200, 50, false, false}),
              (Lines{"epoch 2/4  [" + std::string(12, '=') + std::string(38, ' ') +
                         "]   25 %  step 50/200  ETA 1:15",
                     "loss  0.5000  #^^=~~--,.._  valid 87.50 %  after epoch 1",
                     "rows  " + std::string(17, '#') + std::string(10, '+') + std::string(6, '.') +
                         "  local 50 %  hit 30 %  demand 20 %  ahead 10 %",
                     "time  # computing 50 %  ! waiting for rows 20 %  ~ gradients 5 %  = slower "
                     "ranks 15 %  ? agent 5 %  . rest 5 %",
                     "speed  50.0 steps/s  12.3 MB/s  hit rate 60 %  policy window:32",
                     "agent bandit: policy window:32  (shadow_better)  at step 32  10.0 % fewer "
                     "rows than otherwise  1 of 6 decisions applied",
                     "ranks  mean 14.0 ms  ############!!!!!~====?.  slowest 2 20.0 ms  "
                     "###################!!!!!",
                     beside({fast_0, fast_1, slow_2, fast_3})}));
}

TEST(LiveFrame, NarrowLowScreensKeepWhatMattersMost) {
    const auto lines = live_frame(four_ranks(), {40, 11, false, false});
    ASSERT_EQ(lines.size(), 10U);
    EXPECT_EQ(lines[0], "epoch 2/4   25 %  ETA 1:15");
    EXPECT_EQ(lines[3], "time  ! waiting for rows 20 %");
    EXPECT_EQ(lines[5], "agent bandit: policy window:32");
    EXPECT_THAT(lines[6], testing::HasSubstr("slowest 2 20.0 ms"));
    // Not all four fit: the slowest are shown, and that they are.
    EXPECT_EQ(lines[7], slow_2);
    EXPECT_EQ(lines[8], fast_0);
    EXPECT_EQ(lines[9], "      the slowest of 4 ranks");
    EXPECT_EQ(live_frame(four_ranks(), {24, 3, false, false}).size(), 2U);
}

TEST(LiveFrame, SaysWhatIsNotKnownYet) {
    Standing s = four_ranks();
    s.decision.reset();
    s.by_rank.resize(1);
    const auto lines = live_frame(s, {100, 24, false, false});
    ASSERT_EQ(lines.size(), 6U);
    EXPECT_THAT(lines[2], testing::EndsWith("(1 of 4 ranks)"));
    EXPECT_EQ(lines[3], "time  # computing 40 %  ! waiting for rows 20 %  = slower ranks 40 %");
    EXPECT_EQ(lines[5], "agent bandit  6 decisions, none changed anything");
    s.agent = "never";
    EXPECT_EQ(live_frame(s, {100, 24, false, false}).size(), 5U);
    s.by_rank.clear();
    EXPECT_EQ(live_frame(s, {100, 24, false, false}).size(), 4U) << "no step is known";
    s.seconds_left.reset();
    EXPECT_THAT(progress_line(s, {100, 24, false, false}), testing::EndsWith("ETA -"));
    s.state = "killed";
    EXPECT_THAT(progress_line(s, {100, 24, false, false}), testing::StartsWith("killed  epoch"));
}

TEST(LiveFrame, ColumnsOfTexts) {
    EXPECT_EQ(columns_of("abc"), 3U);
    EXPECT_EQ(columns_of("é語🙂"), 5U);
    EXPECT_EQ(columns_of("e\u0301"), 1U);
    EXPECT_EQ(columns_of("\x1b[31mred\x1b[0m"), 3U);
    EXPECT_EQ(cut_to("é語🙂x", 4, true), "é語…");
    EXPECT_EQ(cut_to("abcdef", 4, false), "abc~");
    EXPECT_EQ(cut_to("abc", 3, false), "abc");
    EXPECT_EQ(shown_text("a\x1b[2Jb\tc\r\n", true), "a [2Jb c  ");
    EXPECT_EQ(shown_text("é\xff", false), "??");
}

TEST(PassedTerminal, ReadsWhatItWrites) {
    for (const PassedTerminal& terminal :
         {PassedTerminal{120, 40, true, "/dev/pts/3"}, PassedTerminal{80, 24, false, ""}}) {
        const auto back = PassedTerminal::parse(terminal.text());
        ASSERT_TRUE(back);
        EXPECT_EQ(back->text(), terminal.text());
    }
    for (const char* text : {"", "1", "x", "0x0 /dev/tty", "ax2", "80x"})
        EXPECT_FALSE(PassedTerminal::parse(text)) << text;
}

}  // namespace
}  // namespace rudder::cli
