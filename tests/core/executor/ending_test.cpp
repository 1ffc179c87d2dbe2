// The end of tasks whose owners end: nothing a task uses is freed before the task has ended.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/executor/monitor.hpp"
#include "core/executor/queue.hpp"
#include "core/executor/seeded_executor.hpp"
#include "core/executor/task_group.hpp"
#include "core/executor/thread_executor.hpp"

namespace rudder {
namespace {

using namespace std::chrono_literals;

/// Owns a task that needs many turns to end, and tells in which order the two went.
class Owner {
public:
    /// `begun` becomes true when the task has begun, from when on it is sure to tell.
    explicit Owner(std::string& order, std::atomic<bool>* begun = nullptr) : order_(order) {
        task_ = Executor::current().spawn("owned", [this, begun] {
            struct Slow {
                Owner& owner;
                ~Slow() {
                    for (int i = 0; i < 20; ++i)
                        Executor::current().yield();
                    const Monitor::Lock lock(owner.monitor_);
                    owner.order_ += "task ";
                }
            } const slow{*this};
            if (begun != nullptr) *begun = true;
            Monitor::Lock lock(monitor_);
            monitor_.wait(lock, "nothing", [] { return false; });
        });
    }
    ~Owner() {
        task_.end();
        order_ += "owner ";
    }

private:
    std::string& order_;
    Monitor monitor_;
    Task task_;
};

TEST(TaskEnd, OwnersOutliveTheirTasksWhereAllAreStopped) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        std::vector<std::string> orders(4);
        SeededExecutor executor(seed);
        for (std::size_t i = 0; i < orders.size(); ++i) {
            executor.spawn(
                "main",
                [&order = orders[i]] {
                    const Owner owner(order);
                    BoundedQueue<int> never(1);
                    static_cast<void>(never.pop());
                },
                static_cast<int>(i));
        }
        executor.call_at(1ms, [&] { executor.pause(1, no_deadline); });
        executor.spawn("fails", [&] {
            executor.sleep_for(2ms);
            throw std::runtime_error("planted");
        });
        EXPECT_THROW(executor.run(), std::runtime_error);
        for (const std::string& order : orders)
            EXPECT_EQ(order, "");
        executor.stop();
        for (const std::string& order : orders)
            EXPECT_EQ(order, "task owner ") << "seed " << seed;
    }
}

TEST(TaskEnd, OwnersOutliveTheirTasksAfterAFailure) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        std::string order;
        {
            SeededExecutor executor(seed);
            executor.spawn("main", [&order] {
                const Owner owner(order);
                Executor::current().sleep_for(1ms);
                throw std::runtime_error("planted");
            });
            EXPECT_THROW(executor.run(), std::runtime_error);
        }
        EXPECT_EQ(order, "task owner ") << seed;
    }
}

/// The owner is cancelled twice, at any moment: it still waits for its task.
TEST(TaskEnd, OwnersThatAreCancelledThemselvesWait) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        std::string order;
        SeededExecutor executor(seed);
        executor.spawn("main", [&] {
            Task owner = executor.spawn("owner", [&order] {
                const Owner mine(order);
                Executor::current().sleep_for(1h);
            });
            executor.sleep_for(Duration(1 + seed % 3));
            owner.cancel();
            executor.yield();
            owner.cancel();
            owner.join();
            EXPECT_TRUE(order.empty() || order == "task owner ") << order;
        });
        executor.run();
    }
    std::string order;
    std::atomic<bool> begun = false;
    ThreadExecutor executor;
    executor
        .spawn("main",
               [&] {
                   Task owner = executor.spawn("owner", [&] {
                       const Owner mine(order, &begun);
                       Executor::current().sleep_for(1h);
                   });
                   while (!begun)
                       executor.sleep_for(1ms);
                   owner.cancel();
                   owner.cancel();
                   owner.join();
               })
        .join();
    EXPECT_EQ(order, "task owner ");
}

/// Whose constructor fails when one of its tasks has begun.
class HalfMade {
public:
    explicit HalfMade(std::string& order) : freed_{order} {
        tasks_.spawn("owned", [this, &order] {
            struct End {
                std::string& order;
                ~End() { order += "task "; }
            } const end{order};
            Monitor::Lock lock(monitor_);
            monitor_.wait(lock, "nothing", [] { return false; });
        });
        Executor::current().sleep_for(1ms);
        throw std::runtime_error("no memory for the second");
    }

private:
    struct Freed {
        std::string& order;
        ~Freed() { order += "owner "; }
    } freed_;
    Monitor monitor_;
    TaskGroup tasks_;
};

TEST(TaskEnd, TasksOfAnOwnerThatIsNeverMadeEndBeforeWhatTheyUse) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::string order;
        SeededExecutor executor(seed);
        executor.spawn("main", [&] { EXPECT_THROW(HalfMade made(order), std::runtime_error); });
        executor.run();
        EXPECT_EQ(order, "task owner ");
    }
}

TEST(TaskEnd, WhatIsCancelledBeforeItBeginsNeverDoes) {
    SeededExecutor executor(1);
    bool begun = false;
    executor.spawn("main", [&] {
        Task task = executor.spawn("never", [&] { begun = true; });
        task.end();
        EXPECT_TRUE(task.done());
    });
    executor.run();
    EXPECT_FALSE(begun);
}

TEST(TaskEnd, FinishedTasksAreLetGoAndSayWhyOnce) {
    SeededExecutor executor(1);
    executor.spawn("main", [&] {
        Task task = executor.spawn("fails", [] { throw std::runtime_error("planted"); });
        EXPECT_THROW(task.finish(), std::runtime_error);
        EXPECT_FALSE(task.valid());
        Task dropped = executor.spawn("fails", [] { throw std::runtime_error("unheard"); });
        dropped.settle();
        EXPECT_TRUE(dropped.done());
    });
    EXPECT_NO_THROW(executor.run());
}

/// A fiber may wait in a handler, or while it is being unwound; others throw and catch meanwhile.
TEST(FiberExceptions, AreTheFibersOwn) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        SeededExecutor executor(seed);
        std::vector<std::string> caught(4);
        for (std::size_t i = 0; i < caught.size(); ++i) {
            executor.spawn("main", [&executor, &caught, i] {
                try {
                    try {
                        throw std::runtime_error(std::to_string(i));
                    } catch (...) {
                        EXPECT_EQ(std::uncaught_exceptions(), 0);
                        executor.sleep_for(Duration(1 + (7 * i) % 5));
                        throw;
                    }
                } catch (const std::exception& error) {
                    executor.sleep_for(Duration(1 + (3 * i) % 5));
                    caught[i] = error.what();
                }
                struct Waits {
                    Executor& executor;
                    ~Waits() {
                        EXPECT_EQ(std::uncaught_exceptions(), 1);
                        executor.sleep_for(Duration(3));
                        EXPECT_EQ(std::uncaught_exceptions(), 1);
                    }
                };
                try {
                    const Waits waits{executor};
                    throw std::runtime_error("unwound");
                } catch (const std::runtime_error&) {
                    EXPECT_EQ(std::uncaught_exceptions(), 0);
                }
            });
        }
        executor.run();
        EXPECT_EQ(caught, (std::vector<std::string>{"0", "1", "2", "3"})) << "seed " << seed;
    }
}

TEST(MonitorDeath, OfOneThatATaskWaitsInIsNoticed) {
    EXPECT_DEATH(
        {
            SeededExecutor executor(1);
            auto monitor = std::make_unique<Monitor>();
            executor.spawn("waits", [&] {
                Monitor::Lock lock(*monitor);
                monitor->wait(lock, "nothing", [] { return false; });
            });
            executor.spawn("frees", [&] {
                executor.sleep_for(1ms);
                monitor.reset();
            });
            executor.run();
        },
        "a task waits in a monitor that is being freed");
}

}  // namespace
}  // namespace rudder
