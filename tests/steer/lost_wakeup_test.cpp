// The lost wake-up of the published prototype, and that the mailbox has none.
#include <deque>

#include <gtest/gtest.h>

#include "core/executor/seeded_executor.hpp"
#include "rudder/core/random.hpp"
#include "steer/helm/mailbox.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t steps = 2000;

/// How long things take, by draws: the same for both protocols.
class Times {
public:
    explicit Times(std::uint64_t seed)
        : stream_({.purpose = Purpose::test, .seed = seed}),
          step_(stream_, 0),
          agent_(stream_, 1) {}
    [[nodiscard]] Duration step() { return 800us + std::chrono::microseconds(step_.below(400)); }
    [[nodiscard]] Duration inference() {
        return 5ms + std::chrono::microseconds(agent_.below(9000));
    }
    /// Formatting, writing and flushing a line.
    [[nodiscard]] Duration log() { return std::chrono::microseconds(5 + agent_.below(15)); }

private:
    RandomStream stream_;
    Draws step_;
    Draws agent_;
};

/// The prototype's protocol: two queues, and a worker that pauses itself after it has answered.
struct Prototype {
    Monitor monitor;
    std::deque<std::uint64_t> requests;
    std::deque<bool> responses;
    bool paused = false;
    bool over = false;

    void work(Executor& executor, Times& times) {
        for (;;) {
            {
                Monitor::Lock lock(monitor);
                monitor.wait(lock, "the end of the pause", [this] { return over || !paused; });
                monitor.wait(lock, "a request", [this] { return over || !requests.empty(); });
                if (over) return;
                requests.pop_front();
            }
            executor.sleep_for(times.inference());
            {
                const Monitor::Lock lock(monitor);
                responses.push_back(false);  // "no"
            }
            executor.sleep_for(times.log());
            const Monitor::Lock lock(monitor);
            paused = true;
        }
    }

    /// One step of training: whether an answer was there.
    bool step(std::uint64_t number) {
        const Monitor::Lock lock(monitor);
        const bool answered = !responses.empty();
        if (answered) {
            responses.clear();
            requests.clear();
            paused = false;  // on "no", at once
        }
        requests.push_back(number);
        monitor.notify_all();
        return answered;
    }

    void end() {
        const Monitor::Lock lock(monitor);
        over = true;
        monitor.notify_all();
    }
};

/// The step of the last decision of a run in the prototype's way.
std::uint64_t last_decision_of_prototype(std::uint64_t seed) {
    std::uint64_t last = 0;
    Times times(seed);
    Prototype prototype;
    SeededExecutor executor(seed);
    executor.spawn("training", [&] {
        Task worker = executor.spawn("worker", [&] { prototype.work(executor, times); });
        for (std::uint64_t step = 1; step <= steps; ++step) {
            executor.sleep_for(times.step());
            if (prototype.step(step)) last = step;
        }
        prototype.end();
        worker.join();
    });
    executor.run();
    return last;
}

/// The same run over the mailbox, its agent as slow to write its log.
std::uint64_t last_decision_of_mailbox(std::uint64_t seed) {
    std::uint64_t last = 0;
    Times times(seed);
    steer::Mailbox box;
    SeededExecutor executor(seed);
    executor.spawn("training", [&] {
        Task worker = executor.spawn("worker", [&] {
            while (const auto asked = box.take()) {
                executor.sleep_for(times.inference());
                box.reply({.sequence = asked->sequence});
                executor.sleep_for(times.log());
            }
        });
        std::uint64_t sequence = 0;
        for (std::uint64_t step = 1; step <= steps; ++step) {
            executor.sleep_for(times.step());
            if (box.poll()) last = step;
            if (box.open()) continue;
            auto observation = std::make_shared<steer::Observation>();
            observation->sequence = ++sequence;
            box.ask(std::move(observation), executor.now() + 1s);
        }
        box.close();
        worker.join();
    });
    executor.run();
    EXPECT_EQ(box.counts().late, 1U) << "but for the one at the end, all are answered";
    return last;
}

TEST(LostWakeUps, StopThePrototypeAndNotTheMailbox) {
    // An answer takes 14 ms at most, a step 0.8 at least.
    constexpr std::uint64_t near_the_end = steps - 20;
    std::uint64_t stopped = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        if (last_decision_of_prototype(seed) < near_the_end) ++stopped;
        const std::uint64_t last = last_decision_of_mailbox(seed);
        EXPECT_GE(last, near_the_end) << "seed " << seed;
    }
    EXPECT_GE(stopped, 10U) << "the race is there";
    RecordProperty("stopped_of_40", static_cast<int>(stopped));
}

}  // namespace
}  // namespace rudder::test
