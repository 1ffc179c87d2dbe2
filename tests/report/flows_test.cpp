// Profiles: arrows against a slow version, names of phases, the order of rows and spans.
#include "report/profile/flows.hpp"

#include <random>
#include <set>
#include <tuple>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "core/step_time.hpp"
#include "report/profile.hpp"
#include "rudder/core/text.hpp"

namespace rudder {
namespace {

using EventKind = ProfileEvent::Kind;
using Arrow = std::tuple<std::string, std::size_t, std::uint64_t, std::size_t, std::uint64_t>;

/// Threads that sample, fetch, fetch ahead and compute steps, every one of them once at most.
RankProfile random_rank(std::mt19937_64& random) {
    RankProfile rank;
    rank.names = {"sampling", "fetching rows", "computing", "fetching ahead", "use"};
    rank.threads.resize(1 + random() % 4);
    const auto add = [&](std::uint32_t name, std::uint64_t step, std::uint64_t id, EventKind kind) {
        const std::uint64_t start = random() % 1000;
        rank.threads[random() % rank.threads.size()].events.push_back(
            {start, start + random() % 50, step, id, name, kind});
    };
    for (std::uint64_t step = 0; step < 12; ++step) {
        for (std::uint32_t name = 0; name < 3; ++name)
            if (random() % 4 != 0) add(name, step, no_step, EventKind::span);
        if (random() % 2 == 0) add(3, no_step, step, EventKind::span);
        add(4, random() % 12, random() % 12, EventKind::use);
        add(1, step, no_step, EventKind::wait);
    }
    return rank;
}

/// All arrows of a name: from the span of one name to that of another, by what `match` says.
template <class Match>
void slow_arrows(const RankProfile& rank, const std::string& name, std::uint32_t from,
                 std::uint32_t to, Match&& match, std::vector<Arrow>& arrows) {
    for (std::size_t t = 0; t < rank.threads.size(); ++t) {
        for (const ProfileEvent& a : rank.threads[t].events) {
            for (std::size_t u = 0; u < rank.threads.size(); ++u) {
                for (const ProfileEvent& b : rank.threads[u].events) {
                    if (a.kind != EventKind::span || b.kind != EventKind::span) continue;
                    if (a.name != from || b.name != to) continue;
                    const std::uint64_t leaves = a.end > a.start ? a.end - 1 : a.end;
                    if (leaves > b.start) continue;
                    for (int count = match(a, b); count > 0; --count)
                        arrows.emplace_back(name, t, leaves, u, b.start);
                }
            }
        }
    }
}

TEST(Flows, AgreeWithASlowVersionOnRandomProfiles) {
    std::mt19937_64 random(23);
    std::size_t seen = 0;
    for (int round = 0; round < 100; ++round) {
        const RankProfile rank = random_rank(random);
        std::vector<Arrow> want;
        const auto same = [](const auto& a, const auto& b) { return a.step == b.step ? 1 : 0; };
        slow_arrows(rank, "batch", 0, 1, same, want);
        slow_arrows(rank, "rows", 1, 2, same, want);
        const auto uses = [&](const ProfileEvent& a, const ProfileEvent& b) {
            int count = 0;
            for (const ThreadProfile& thread : rank.threads) {
                for (const ProfileEvent& use : thread.events) {
                    if (use.kind != EventKind::use) continue;
                    count += use.id == a.id && use.step == b.step ? 1 : 0;
                }
            }
            return count;
        };
        slow_arrows(rank, "rows ahead", 3, 2, uses, want);
        std::vector<Arrow> got;
        std::uint64_t last = 0;
        for (const report::Flow& flow : report::flows_of(rank)) {
            EXPECT_LE(last, flow.from.time) << "in the order of time";
            last = flow.from.time;
            got.emplace_back(flow.name, flow.from.thread, flow.from.time, flow.to.thread,
                             flow.to.time);
        }
        ASSERT_THAT(got, testing::UnorderedElementsAreArray(want)) << round;
        seen += got.size();
    }
    EXPECT_GT(seen, 300U);
}

TEST(Phases, HaveNamesAndPlaces) {
    EXPECT_EQ(report::phase_name("computing", EventKind::span).name, "compute");
    EXPECT_EQ(report::phase_name("updating", EventKind::span).category, "compute");
    EXPECT_EQ(report::phase_name("waiting for rows", EventKind::span).name, "stall");
    const report::PhaseName wait = report::phase_name("computing", EventKind::wait);
    EXPECT_EQ(wait.name, "wait: computing") << "what is waited for has no other name";
    EXPECT_EQ(wait.category, "wait");
    const report::PhaseName other = report::phase_name("juggling", EventKind::span);
    EXPECT_EQ(other.name, "juggling");
    EXPECT_EQ(other.category, "other");
    EXPECT_EQ(report::category_order("step"), 0);
    EXPECT_LT(report::category_order("compute"), report::category_order("fetch"));
    EXPECT_LT(report::category_order("fetch"), report::category_order("sample"));
    EXPECT_LT(report::category_order("sinks"), report::category_order("wait"));
    EXPECT_EQ(report::category_order("other"), report::category_order("wait"));
}

/// What a span of a step is part of is said in the words that all views have, and all of them but
/// the rest, which no span is of, are said.
TEST(Phases, ArePartsOfAStepInTheWordsOfEveryView) {
    std::set<std::string_view> said;
    for (const char* text : {"waiting for rows", "computing", "updating", "reducing gradients"}) {
        const std::string_view part = report::phase_name(text, EventKind::span).part;
        EXPECT_FALSE(part.empty()) << text;
        for (const std::string_view words : split(part, ','))
            said.insert(trimmed(words));
    }
    std::set<std::string_view> parts;
    for (const StepPart& part : step_parts)
        if (part.seconds != &Seconds::rest) parts.insert(part.words);
    EXPECT_EQ(said, parts);
    EXPECT_TRUE(report::phase_name("sampling", EventKind::span).part.empty()) << "beside steps";
    EXPECT_TRUE(report::phase_name("computing", EventKind::wait).part.empty());
    EXPECT_TRUE(report::phase_name("juggling", EventKind::span).part.empty());
}

TEST(TraceRows, OuterSpansComeFirstAndThreadsByWhatTheyDo) {
    RankProfile rank;
    rank.names = {"sampling", "training", "computing", "juggling"};
    rank.threads = {{"idle", {}},
                    {"sampler", {{10, 20, 0, no_step, 0, EventKind::span}}},
                    {"main",
                     {{10, 15, 0, no_step, 2, EventKind::span},
                      {20, 25, 0, no_step, 2, EventKind::span},
                      {10, 30, 0, no_step, 1, EventKind::span}}},
                    {"clown", {{5, 6, no_step, no_step, 3, EventKind::span}}}};
    const Json all = parse_json(report::trace_events({0, {rank}}), "trace").at("traceEvents");
    std::vector<std::string> rows(5);
    std::vector<std::string> main_spans;
    for (const Json& event : all) {
        const auto row = event.at("tid").get<std::size_t>();
        if (event.at("name") == "thread_name") rows.at(row) = event.at("args").at("name");
        if (event.at("ph") == "X" && row == 1) main_spans.push_back(event.at("name"));
        if (event.at("name") == "juggling") {
            EXPECT_FALSE(event.contains("args")) << "it is of no step";
        }
    }
    EXPECT_THAT(rows, testing::ElementsAre("", "main", "sampler", "clown", "idle"));
    EXPECT_THAT(main_spans, testing::ElementsAre("step", "compute", "compute"));
}

}  // namespace
}  // namespace rudder
