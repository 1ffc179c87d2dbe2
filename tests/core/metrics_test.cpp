// The metrics registry, and spans as seen by another thread.
#include "core/metrics.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/core/span.hpp"

namespace rudder {
namespace {

TEST(Metrics, KeepEachKindUnderItsName) {
    MetricsRegistry registry;
    registry.counter("rows").add(3);
    registry.counter("rows").add(4);
    registry.gauge("hit rate").set(0.5);
    registry.timer("step").add(2'000'000'000);
    registry.timer("step").add(1'000'000'000);
    const auto values = registry.snapshot();
    ASSERT_EQ(values.size(), 3U);
    EXPECT_EQ(values[0].name, "hit rate");
    EXPECT_EQ(values[0].value, 0.5);
    EXPECT_EQ(values[1].name, "rows");
    EXPECT_EQ(values[1].count, 7U);
    EXPECT_EQ(values[2].kind, MetricValue::Kind::timer);
    EXPECT_DOUBLE_EQ(values[2].value, 3.0);
    EXPECT_EQ(values[2].count, 2U);
}

TEST(Metrics, ReferencesStayValid) {
    MetricsRegistry registry;
    Counter& first = registry.counter("a");
    for (int i = 0; i < 1000; ++i) {
        registry.counter("b" + std::to_string(i));
    }
    first.add(1);
    EXPECT_EQ(&registry.counter("a"), &first);
    EXPECT_EQ(registry.counter("a").value(), 1U);
}

TEST(Metrics, OneNameHasOneKind) {
    MetricsRegistry registry;
    registry.counter("x");
    EXPECT_THROW(registry.gauge("x"), InternalError);
}

TEST(Metrics, CountFromManyThreads) {
    MetricsRegistry registry;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&registry] {
            for (int i = 0; i < 1000; ++i) {
                registry.counter("shared").add(1);
                registry.timer("time").add(1);
                (void)registry.snapshot();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(registry.counter("shared").value(), 4000U);
    EXPECT_EQ(registry.timer("time").count(), 4000U);
}

/// The phases of the thread whose outermost span is `name`.
std::vector<std::string> phases_under(const std::string& name) {
    for (const ThreadPhase& phase : current_phases()) {
        if (phase.phases.front() == name) return phase.phases;
    }
    return {};
}

TEST(Span, ShowsWhatAnotherThreadIsIn) {
    std::promise<void> inside;
    std::promise<void> leave;
    std::thread worker([&] {
        const Span outer("test outer");
        const Span inner("test inner");
        inside.set_value();
        leave.get_future().wait();
    });
    inside.get_future().wait();
    EXPECT_EQ(phases_under("test outer"), (std::vector<std::string>{"test outer", "test inner"}));
    leave.set_value();
    worker.join();
    EXPECT_TRUE(phases_under("test outer").empty());
}

TEST(Span, AddsItsTimeToItsTimer) {
    const Timer& timer = MetricsRegistry::global().timer("span/test timed");
    for (int i = 0; i < 2; ++i) {
        const Span span("test timed");
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(timer.count(), 2U);
    EXPECT_GE(timer.seconds(), 0.010);
}

TEST(Span, NestsDeeperThanIsShown) {
    const auto descend = [](const auto& self, int depth) -> std::size_t {
        const Span span("test deep");
        return depth == 0 ? phases_under("test deep").size() : self(self, depth - 1);
    };
    EXPECT_EQ(descend(descend, 40), 16U);
    EXPECT_TRUE(phases_under("test deep").empty());
}

TEST(Span, CanBeWatchedWhileThreadsComeAndGo) {
    std::atomic<bool> stop{false};
    std::thread watchdog([&] {
        while (!stop) {
            for (const ThreadPhase& phase : current_phases()) {
                EXPECT_FALSE(phase.phases.empty());
                EXPECT_GE(phase.seconds, 0.0);
                EXPECT_LT(phase.seconds, 1000.0);
            }
        }
    });
    for (int round = 0; round < 50; ++round) {
        std::thread worker([] {
            for (int i = 0; i < 100; ++i) {
                const Span outer("test a");
                const Span inner("test b");
            }
        });
        worker.join();
    }
    stop = true;
    watchdog.join();
}

TEST(Progress, TheSilentOneTakesAnything) {
    Progress& none = Progress::none();
    none.phase("reading", 10);
    none.advance(5);
    none.done();
}

}  // namespace
}  // namespace rudder
