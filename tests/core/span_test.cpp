// Spans as seen by another thread.
#include "core/span.hpp"

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/progress.hpp"

namespace rudder {
namespace {

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
