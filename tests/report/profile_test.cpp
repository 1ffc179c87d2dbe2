// A profile as Chrome trace events: valid JSON, names, rows, arrows, clocks.
#include "report/profile.hpp"

#include <map>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using Kind = ProfileEvent::Kind;

/// Two threads: one computes steps 4 and 5, the other fetches for them, and ahead.
RankProfile small() {
    RankProfile rank;
    rank.begin = 1'000'000;
    rank.end = 9'000'000;
    rank.host = "host <b>\"ä\"</b>";
    rank.names = {"computing", "fetching rows", "fetching ahead", "use", "a place \"x\""};
    rank.threads.resize(2);
    rank.threads[0] = {"fetch 0",
                       {{1'100'000, 1'900'000, 4, no_step, 1, Kind::span},
                        {2'000'000, 2'100'000, no_step, 77, 2, Kind::span},
                        {2'500'000, 2'500'000, 5, 77, 3, Kind::use},
                        {2'400'000, 2'900'000, 5, no_step, 1, Kind::span},
                        {3'000'000, 3'500'000, 6, no_step, 1, Kind::span},
                        {4'000'000, 8'000'000, no_step, no_step, 4, Kind::wait}}};
    rank.threads[1] = {"main",
                       {{2'000'000, 2'950'000, 4, no_step, 0, Kind::span},
                        {3'000'000, 4'000'000, 5, no_step, 0, Kind::span}}};
    return rank;
}

Json events_of(const RunProfile& profile) {
    return parse_json(report::trace_events(profile), "trace events").at("traceEvents");
}

TEST(TraceEvents, NamesRowsAndSteps) {
    const Json events = events_of({1, {small()}});
    std::map<std::string, int> spans;
    for (const Json& event : events) {
        if (event.at("ph") == "X") ++spans[event.at("name")];
        if (event.at("name") == "fetch") {
            EXPECT_FALSE(event.at("args").contains("part")) << "it is beside steps";
        }
        if (event.at("name") == "process_name") {
            EXPECT_EQ(event.at("args").at("name"), "rank 0 on host <b>\"ä\"</b>");
        }
        if (event.at("name") == "compute" && event.at("args").at("step") == 4) {
            EXPECT_EQ(event.at("cat"), "compute");
            EXPECT_EQ(event.at("args").at("part"), "computing");
            EXPECT_EQ(event.at("tid"), 1) << "the thread that computes is the first row";
            EXPECT_DOUBLE_EQ(event.at("ts").get<double>(), 1000.0);
            EXPECT_DOUBLE_EQ(event.at("dur").get<double>(), 950.0);
        }
    }
    EXPECT_EQ(spans,
              (std::map<std::string, int>{
                  {"compute", 2}, {"fetch", 3}, {"fetch ahead", 1}, {"wait: a place \"x\"", 1}}));
}

TEST(TraceEvents, ArrowsLeadFromFetchesToTheBatchThatUsedThem) {
    const Json events = events_of({1, {small()}});
    std::map<std::string, std::pair<Json, Json>> flows;
    for (const Json& event : events) {
        if (event.at("ph") == "s") flows[event.at("id")].first = event;
        if (event.at("ph") == "f") flows[event.at("id")].second = event;
    }
    std::map<std::string, std::vector<double>> ends;
    for (const auto& [id, flow] : flows) {
        ASSERT_FALSE(flow.first.is_null() || flow.second.is_null()) << id;
        EXPECT_LE(flow.first.at("ts").get<double>(), flow.second.at("ts").get<double>());
        EXPECT_EQ(flow.first.at("tid"), 2);
        EXPECT_EQ(flow.second.at("tid"), 1);
        EXPECT_EQ(flow.second.at("bp"), "e");
        ends[flow.first.at("name")].push_back(flow.second.at("ts"));
    }
    // Step 6 was fetched and not computed: no arrow.
    EXPECT_THAT(ends["rows"], testing::UnorderedElementsAre(1000.0, 2000.0));
    EXPECT_THAT(ends["rows ahead"], testing::ElementsAre(2000.0));
}

TEST(TraceEvents, TimesAreOfOneClock) {
    RankProfile other = small();
    other.clock_ahead = 500'000;
    for (ThreadProfile& thread : other.threads) {
        for (ProfileEvent& event : thread.events) {
            event.start += 500'000;
            event.end += 500'000;
        }
    }
    other.begin += 500'000;
    other.dropped = 3;
    const RunProfile profile{1, {small(), other}};
    std::map<int, std::vector<double>> times;
    for (const Json& event : events_of(profile))
        if (event.at("ph") == "X") times[event.at("pid")].push_back(event.at("ts"));
    EXPECT_EQ(times.size(), 2U);
    EXPECT_EQ(times[1], times[2]);
    const Json other_data = parse_json(report::trace_events(profile), "").at("otherData");
    EXPECT_EQ(other_data.at("dropped_events"), 3);
    EXPECT_EQ(other_data.at("epoch"), 2);
    EXPECT_EQ(other_data.at("clock_ahead_us"), Json({0.0, 500.0}));
}

TEST(TraceEvents, NothingRecordedIsStillAFile) {
    EXPECT_TRUE(events_of({}).empty());
    EXPECT_EQ(events_of({0, {RankProfile{}}}).size(), 2U);
}

TEST(TraceEvents, TheFileIsReplacedInOnePiece) {
    const test::TempDir folder;
    write_text(folder / "profile.json", "old");
    report::write_profile({1, {small()}}, folder / "profile.json");
    EXPECT_EQ(read_text(folder / "profile.json", 1 << 20), report::trace_events({1, {small()}}));
    EXPECT_THROW(report::write_profile({}, folder / "profile.json" / "profile.json"), Error);
}

}  // namespace
}  // namespace rudder
