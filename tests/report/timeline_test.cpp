// One step of a profile: which it is, and what every thread did during it.
#include <gmock/gmock.h>

#include "report/profile.hpp"
#include "report/run/read_parts.hpp"
#include "rudder/core/error.hpp"

#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using Kind = ProfileEvent::Kind;
using report::StepTimeline;

/// A rank whose steps 1, 2 and 3 take 1, 3 and 2 ms, one after the other, each half computing and
/// half reducing; a second thread fetches all the time.
RankProfile three_steps() {
    RankProfile rank;
    rank.begin = 0;
    rank.end = 6'000'000;
    rank.host = "here";
    rank.names = {"training", "computing", "reducing gradients", "fetching rows"};
    std::vector<ProfileEvent> main;
    std::uint64_t at = 0;
    for (const auto& [step, length] :
         {std::pair(1U, 1'000'000U), {2U, 3'000'000U}, {3U, 2'000'000U}}) {
        main.push_back({at, at + length / 2, step, no_step, 1, Kind::span});
        main.push_back({at + length / 2, at + length, step, no_step, 2, Kind::span});
        main.push_back({at, at + length, step, no_step, 0, Kind::span});
        at += length;
    }
    rank.threads = {{"fetch 0", {{500'000, 5'500'000, 3, no_step, 3, Kind::span}}},
                    {"main", std::move(main)}};
    return rank;
}

std::optional<StepTimeline> timeline_of(const RunProfile& profile) {
    const test::TempDir folder;
    report::write_profile(profile, folder / "profile.json");
    return report::read_timeline(folder / "profile.json");
}

TEST(StepTimelines, AreOfTheStepOfUsualLength) {
    const auto timeline = timeline_of({0, {three_steps()}});
    ASSERT_TRUE(timeline);
    EXPECT_EQ(timeline->step, 3U) << "2 ms, between 1 and 3";
    EXPECT_EQ(timeline->steps, 3U);
    EXPECT_DOUBLE_EQ(timeline->length, 2000);
    ASSERT_EQ(timeline->ranks.size(), 1U);
    const auto& lanes = timeline->ranks[0].lanes;
    ASSERT_EQ(lanes.size(), 2U);
    EXPECT_EQ(lanes[0].thread, "main") << "who trains comes first";
    ASSERT_EQ(lanes[0].spans.size(), 2U) << "not the step itself";
    EXPECT_EQ(lanes[0].spans[0].name, "compute");
    EXPECT_DOUBLE_EQ(lanes[0].spans[0].start, 0);
    EXPECT_DOUBLE_EQ(lanes[0].spans[0].end, 1000);
    EXPECT_EQ(lanes[0].spans[1].category, "reduce");
    // What goes on beyond the step is cut at its ends.
    ASSERT_EQ(lanes[1].spans.size(), 1U);
    EXPECT_DOUBLE_EQ(lanes[1].spans[0].start, 0);
    EXPECT_DOUBLE_EQ(lanes[1].spans[0].end, 1500);
}

TEST(StepTimelines, OfManyRanksShowThoseThatWaitLeastAndMost) {
    RunProfile profile;
    for (std::uint64_t r = 0; r < 7; ++r) {
        RankProfile rank = three_steps();
        // Rank r waits r / 10 ms less in each step.
        for (ProfileEvent& event : rank.threads[1].events) {
            if (event.name == 2) event.end -= r * 10'000;
        }
        profile.ranks.push_back(std::move(rank));
    }
    const auto timeline = timeline_of(profile);
    ASSERT_TRUE(timeline);
    EXPECT_EQ(timeline->all_ranks, 7U);
    std::vector<std::uint64_t> shown;
    for (const auto& rank : timeline->ranks)
        shown.push_back(rank.rank);
    EXPECT_THAT(shown, testing::ElementsAre(0, 1, 5, 6));
}

TEST(StepTimelines, AStepThatARankLacksIsNotTaken) {
    RankProfile other = three_steps();
    std::erase_if(other.threads[1].events, [](const ProfileEvent& e) { return e.step == 3; });
    const auto timeline = timeline_of({0, {three_steps(), other}});
    ASSERT_TRUE(timeline);
    EXPECT_EQ(timeline->step, 2U);
}

TEST(StepTimelines, WhatIsNoProfileIsSaid) {
    const test::TempDir folder;
    EXPECT_FALSE(timeline_of({0, {RankProfile{}}}));
    for (const char* text : {"", "[]", "{\"traceEvents\": 3}", "{\"traceEvents\": [1]}",
                             "{\"traceEvents\": [{\"ph\": "}) {
        test::write_file(folder / "profile.json", text);
        EXPECT_THROW((void)report::read_timeline(folder / "profile.json"), Error) << text;
    }
    // Fields of other types are as good as absent.
    test::write_file(folder / "profile.json",
                     "{\"traceEvents\": [{\"ph\": 1, \"name\": {}, \"ts\": [], \"args\": 7}, "
                     "{\"ph\": \"X\", \"cat\": \"step\", \"args\": {\"step\": -1}}]}");
    EXPECT_FALSE(report::read_timeline(folder / "profile.json"));
    // A report says it, and goes on.
    test::write_fake_run(folder / "run");
    test::write_file(folder / "run" / "profile.json", "[]");
    const report::RunData run = report::read_run(folder / "run");
    EXPECT_THAT(run.missing, testing::Contains(testing::HasSubstr("profile.json cannot be read")));
}

}  // namespace
}  // namespace rudder
