// Recording what threads do: spans with their steps, waits, uses, and what has no room.
#include "core/profile.hpp"

#include <algorithm>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include "core/executor/monitor.hpp"
#include "core/executor/thread_executor.hpp"
#include "core/span.hpp"

namespace rudder {
namespace {

using Kind = ProfileEvent::Kind;

/// The events of that kind and name, of all threads.
std::vector<ProfileEvent> events(const RankProfile& profile, Kind kind, std::string_view name) {
    std::vector<ProfileEvent> found;
    for (const ThreadProfile& thread : profile.threads) {
        for (const ProfileEvent& event : thread.events)
            if (event.kind == kind && profile.names[event.name] == name) found.push_back(event);
    }
    return found;
}

TEST(Profiler, RecordsNothingWhileOff) {
    { const Span before("before"); }
    Profiler::start();
    const RankProfile profile = Profiler::stop();
    { const Span after("after"); }
    EXPECT_TRUE(profile.threads.empty());
    EXPECT_FALSE(Profiler::on());
}

TEST(Profiler, KeepsStepsIdsAndTimes) {
    Profiler::start();
    {
        const Span outer("outer", 7);
        Span inner("inner");
        inner.set_id(42);
        Profiler::use(42, 9);
    }
    const RankProfile profile = Profiler::stop();
    ASSERT_EQ(profile.threads.size(), 1U);
    EXPECT_EQ(profile.threads[0].name, "main");
    const auto outer = events(profile, Kind::span, "outer");
    const auto inner = events(profile, Kind::span, "inner");
    const auto use = events(profile, Kind::use, "use");
    ASSERT_EQ(outer.size() + inner.size() + use.size(), 3U);
    EXPECT_EQ(outer[0].step, 7U);
    EXPECT_EQ(inner[0].step, no_step);
    EXPECT_EQ(inner[0].id, 42U);
    EXPECT_EQ(use[0].id, 42U);
    EXPECT_EQ(use[0].step, 9U);
    EXPECT_LE(profile.begin, outer[0].start);
    EXPECT_LE(outer[0].start, inner[0].start);
    EXPECT_LE(inner[0].end, outer[0].end);
    EXPECT_LE(outer[0].end, profile.end);
}

TEST(Profiler, SpansThatHadBegunAreCut) {
    auto span = std::make_unique<Span>("long");
    Profiler::start();
    auto ended = std::make_unique<Span>("inside");
    ended.reset();
    span.reset();
    const RankProfile profile = Profiler::stop();
    const auto found = events(profile, Kind::span, "long");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].start, profile.begin);
}

TEST(Profiler, CountsWhatHasNoRoom) {
    Profiler::start(10);
    for (int i = 0; i < 25; ++i)
        const Span span("many");
    const RankProfile profile = Profiler::stop();
    EXPECT_EQ(events(profile, Kind::span, "many").size(), 10U);
    EXPECT_EQ(profile.dropped, 15U);
}

TEST(Profiler, EveryThreadHasItsRowAndItsTasksName) {
    Profiler::start();
    ThreadExecutor executor;
    std::vector<Task> tasks;
    Monitor monitor;
    bool go = false;
    for (int t = 0; t < 3; ++t) {
        tasks.push_back(executor.spawn("worker " + std::to_string(t), [&] {
            const Span span("work");
            Monitor::Lock lock(monitor);
            monitor.wait(lock, "the go", [&] { return go; });
        }));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    {
        Monitor::Lock lock(monitor);
        go = true;
        monitor.notify_all();
    }
    for (Task& task : tasks)
        task.join();
    const RankProfile profile = Profiler::stop();
    std::vector<std::string> names;
    for (const ThreadProfile& thread : profile.threads)
        names.push_back(thread.name);
    EXPECT_THAT(names, testing::IsSupersetOf({"worker 0", "worker 1", "worker 2"}));
    EXPECT_EQ(events(profile, Kind::span, "work").size(), 3U);
    EXPECT_EQ(events(profile, Kind::wait, "the go").size(), 3U);
}

/// Spans at random on many threads, while recordings begin and end: what is collected nests.
TEST(Profiler, NestsUnderRandomUse) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            const std::function<void(int)> nest = [&](int depth) {
                const Span span("nested", static_cast<std::uint64_t>(depth));
                while (depth < 6 && random() % 3 == 0)
                    nest(depth + 1);
            };
            while (!stop)
                nest(0);
        });
    }
    for (int round = 0; round < 20; ++round) {
        Profiler::start(5000);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const RankProfile profile = Profiler::stop();
        for (const ThreadProfile& thread : profile.threads) {
            auto sorted = thread.events;
            std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
                return a.start != b.start ? a.start < b.start : a.end > b.end;
            });
            std::vector<std::uint64_t> open;
            for (const ProfileEvent& event : sorted) {
                while (!open.empty() && open.back() <= event.start && open.back() < event.end)
                    open.pop_back();
                EXPECT_TRUE(open.empty() || event.end <= open.back());
                open.push_back(event.end);
            }
        }
    }
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
}

}  // namespace
}  // namespace rudder
