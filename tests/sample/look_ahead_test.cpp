// The look-ahead queue: bounded, in order, and never in the way of an end.
#include "sample/look_ahead.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "core/executor/monitor.hpp"
#include "core/executor/seeded_executor.hpp"
#include "rudder/core/random.hpp"
#include "sample/bed.hpp"
#include "sample/suite.hpp"

namespace rudder::test {
namespace {

/// A schedule and a source on one rank.
struct Setting {
    Bed bed{};
    std::vector<partition::Part> parts = bed.data().all_parts();
    std::unique_ptr<sample::NeighbourSource> source =
        sample::make_replicated_source(comm::Communicator::local(), bed.data().book(), parts);
    sample::Schedule schedule{comm::Communicator::local(), parts, 4, {.batch = 4}};

    [[nodiscard]] sample::LookAheadOptions options(std::uint64_t window, std::uint64_t steps,
                                                   int tasks) const {
        sample::LookAheadOptions ahead;
        ahead.window = window;
        ahead.last_step = steps;
        ahead.tasks = tasks;
        ahead.parts = {0, 1, 2, 3};
        return ahead;
    }
};

/// Runs `body` as a task of a seeded executor, for several seeds.
void on_fibers(const std::function<void()>& body) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SeededExecutor executor(seed);
        Task task = executor.spawn("test", body);
        executor.run();
        task.join();
    }
}

/// Lets every other task do what it can.
void settle() {
    for (int i = 0; i < 2000; ++i)
        Executor::current().yield();
}

TEST(LookAheadQueue, GoesNoFurtherAheadThanTheWindow) {
    const Setting setting;
    on_fibers([&] {
        std::uint64_t published = 0;
        sample::LookAheadOptions options = setting.options(3, 50, 2);
        options.published = [&](const sample::SampledStep& step) {
            EXPECT_EQ(step.step, published++);
        };
        sample::LookAhead queue(setting.schedule, *setting.source, {}, options);
        for (std::uint64_t t = 0; t < 50; ++t) {
            if (t == 10) queue.set_window(1);
            if (t == 20) queue.set_window(30);
            settle();
            const std::uint64_t window = t < 10 ? 3 : t < 20 ? 1 : 30;
            // What was sampled before the window shrank stays.
            if (t < 10 || t >= 13) {
                EXPECT_EQ(queue.waiting(), std::min(window, 50 - t));
            }
            EXPECT_EQ(queue.take().step, t);
        }
        EXPECT_EQ(queue.waiting_bytes(), 0U);
    });
}

TEST(LookAheadQueue, KeepsToItsBytesButOneStepMayAlwaysWait) {
    const Setting setting;
    for (const std::uint64_t limit : {1U, 60000U}) {
        on_fibers([&] {
            sample::LookAheadOptions options = setting.options(20, 40, 3);
            options.max_bytes = limit;
            sample::LookAhead queue(setting.schedule, *setting.source, {.fanout = {3, 3}}, options);
            std::uint64_t most = 0;
            for (std::uint64_t t = 0; t < 40; ++t) {
                settle();
                most = std::max(most, queue.waiting());
                if (queue.waiting() > 1) {
                    EXPECT_LE(queue.waiting_bytes(), limit + limit / 8);  // steps still grow
                }
                sample::SampledStep step = queue.take();
                EXPECT_EQ(step.step, t);
                queue.recycle(std::move(step));
            }
            if (limit == 1) {
                EXPECT_EQ(most, 1U);
            } else {
                EXPECT_GT(most, 1U);
            }
        });
    }
}

TEST(LookAheadQueue, LessMayWaitFromAnyMomentOn) {
    const Setting setting;
    on_fibers([&] {
        sample::LookAhead queue(setting.schedule, *setting.source, {.fanout = {3, 3}},
                                setting.options(20, 40, 3));
        settle();
        EXPECT_EQ(queue.waiting(), 20U);
        queue.set_max_bytes(1);
        for (std::uint64_t t = 0; t < 40; ++t) {
            settle();
            if (t >= 19) {
                EXPECT_LE(queue.waiting(), 1U);
            }
            sample::SampledStep step = queue.take();
            EXPECT_EQ(step.step, t);
            queue.recycle(std::move(step));
        }
    });
}

TEST(LookAheadQueue, TasksMayComeAndGo) {
    const Setting setting;
    sample::LookAhead whole(setting.schedule, *setting.source, {}, setting.options(4, 60, 1));
    std::vector<sample::SampledStep> expected;
    for (std::uint64_t t = 0; t < 60; ++t)
        expected.push_back(whole.take());
    const auto body = [&] {
        sample::LookAheadOptions options = setting.options(5, 60, 2);
        options.most_tasks = 4;
        sample::LookAhead queue(setting.schedule, *setting.source, {}, options);
        EXPECT_EQ(queue.most_tasks(), 4);
        const RandomStream stream({Purpose::test, 5});
        Draws draws(stream, 0);
        for (std::uint64_t t = 0; t < 60; ++t) {
            const auto tasks = 1 + static_cast<int>(draws.below(4));
            queue.set_tasks(tasks);
            EXPECT_EQ(queue.tasks(), tasks);
            sample::SampledStep step = queue.take();
            ASSERT_EQ(step.step, t);
            for (std::size_t i = 0; i < step.batches.size(); ++i)
                EXPECT_TRUE(equal(step.batches[i], expected[t].batches[i]));
            queue.recycle(std::move(step));
        }
        EXPECT_THROW(queue.set_tasks(0), InternalError);
        EXPECT_THROW(queue.set_tasks(5), InternalError);
    };
    on_fibers(body);
    body();
}

TEST(LookAheadQueue, StopsWithStepsInHandAndWaiting) {
    const Setting setting;
    const auto body = [&] {
        for (const std::uint64_t taken : {0U, 1U, 5U}) {
            sample::LookAhead queue(setting.schedule, *setting.source, {},
                                    setting.options(4, 1000, 3));
            for (std::uint64_t t = 0; t < taken; ++t)
                EXPECT_EQ(queue.take().step, t);
            if (taken != 1) queue.stop();
            if (taken != 1) {
                EXPECT_THROW(static_cast<void>(queue.take()), Error);
            }
        }
    };
    on_fibers(body);
    for (int i = 0; i < 20; ++i)
        body();
}

TEST(LookAheadQueue, AnEmptyRangeEndsAtOnce) {
    const Setting setting;
    sample::LookAheadOptions options = setting.options(4, 7, 2);
    options.first_step = 7;
    sample::LookAhead queue(setting.schedule, *setting.source, {}, options);
    const sample::SampledStep step = queue.take();
    EXPECT_EQ(step.step, 7U);
    EXPECT_TRUE(step.batches.empty());
}

TEST(LookAheadQueue, StartsInTheMiddle) {
    const Setting setting;
    sample::LookAhead whole(setting.schedule, *setting.source, {}, setting.options(4, 30, 1));
    sample::LookAheadOptions options = setting.options(4, 30, 2);
    options.first_step = 17;
    sample::LookAhead rest(setting.schedule, *setting.source, {}, options);
    for (std::uint64_t t = 0; t < 30; ++t) {
        const sample::SampledStep expected = whole.take();
        if (t < 17) continue;
        const sample::SampledStep step = rest.take();
        ASSERT_EQ(step.batches.size(), expected.batches.size());
        for (std::size_t i = 0; i < step.batches.size(); ++i)
            EXPECT_TRUE(equal(step.batches[i], expected.batches[i]));
    }
}

/// Fails, or waits for ever, from one step on.
class Faulty final : public sample::NeighbourSource {
public:
    Faulty(const sample::NeighbourSource& good, std::uint64_t from, bool waits)
        : good_(good), from_(from), waits_(waits) {}
    void draw(const sample::DrawRequest& request, sample::DrawnNeighbours& out) const override {
        if (request.key.step >= from_) {
            if (!waits_) throw input_error("planted", "test", "none");
            Monitor::Lock lock(monitor_);
            monitor_.wait(lock, "what never comes", [] { return false; });
        }
        good_.draw(request, out);
    }
    void degrees(std::span<const VertexId> of, std::span<std::uint32_t> out) const override {
        good_.degrees(of, out);
    }
    [[nodiscard]] VertexId vertices() const noexcept override { return good_.vertices(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return 0; }
    [[nodiscard]] std::string_view name() const noexcept override { return "faulty"; }

private:
    const sample::NeighbourSource& good_;
    std::uint64_t from_;
    bool waits_;
    mutable Monitor monitor_;
};

TEST(LookAheadQueue, PassesOnWhatASamplingTaskThrew) {
    const Setting setting;
    const Faulty source(*setting.source, 6, false);
    const auto body = [&] {
        sample::LookAhead queue(setting.schedule, source, {}, setting.options(4, 100, 2));
        std::uint64_t got = 0;
        try {
            for (; got < 100; ++got)
                EXPECT_EQ(queue.take().step, got);
            FAIL() << "no error";
        } catch (const Error& error) {
            EXPECT_EQ(error.problem(), "planted");
            EXPECT_LE(got, 6U);
        }
    };
    on_fibers(body);
    body();
}

TEST(LookAheadQueue, PassesOnWhatTheListenerThrew) {
    const Setting setting;
    on_fibers([&] {
        sample::LookAheadOptions options = setting.options(4, 100, 2);
        options.published = [](const sample::SampledStep& step) {
            if (step.step == 3) throw input_error("planted", "test", "none");
        };
        sample::LookAhead queue(setting.schedule, *setting.source, {}, options);
        EXPECT_THROW(
            {
                for (int i = 0; i < 10; ++i)
                    static_cast<void>(queue.take());
            },
            Error);
    });
}

TEST(LookAheadQueue, StopsTasksThatWaitForWhatNeverComes) {
    const Setting setting;
    const Faulty source(*setting.source, 2, true);
    const auto body = [&] {
        sample::LookAhead queue(setting.schedule, source, {}, setting.options(8, 100, 3));
        EXPECT_EQ(queue.take().step, 0U);
        EXPECT_EQ(queue.take().step, 1U);
    };
    on_fibers(body);
    body();
}

TEST(LookAheadQueue, ARankThatDiesEndsTheSamplingOfTheOthers) {
    const Bed bed;
    using namespace std::chrono_literals;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        comm::SimulatedCluster cluster({.ranks = 4,
                                        .seed = seed,
                                        .link = {.delay = 100us, .bytes_per_second = 1e9},
                                        .faults = {{.rank = 2, .at = 1500us}}});
        std::vector<std::string> heard(4);
        const auto program = [&](const comm::Communicator& comm) {
            try {
                static_cast<void>(
                    run_sampling(comm, bed.data(), {.partitioned = true, .tasks = 2, .batch = 2}));
            } catch (const Error& error) {
                heard[static_cast<std::size_t>(comm.rank())] = error.problem();
            }
        };
        try {
            cluster.run(program);
        } catch (const Error& error) {  // of the dead rank's service, which nobody joins
            EXPECT_EQ(error.kind(), ErrorKind::rank);
        }
        for (const std::size_t rank : {0U, 1U, 3U})
            EXPECT_EQ(heard[rank], "rank 2 died");
    }
}

}  // namespace
}  // namespace rudder::test
