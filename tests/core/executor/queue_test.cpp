// Bounded queues on many schedules: nothing lost, nothing doubled, order kept, closing heard; and
// ranks of tasks on the seeded executor.
#include "core/executor/queue.hpp"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>

#include "core/executor/seeded_executor.hpp"
#include "core/executor/task_state.hpp"
#include "core/executor/thread_executor.hpp"

namespace rudder {
namespace {

using namespace std::chrono_literals;

struct Item {
    int producer = 0;
    int number = 0;
};

/// What consumers took, each in its order.
using Taken = std::vector<std::vector<Item>>;

Taken pump(Executor& executor, std::size_t capacity, int producers, int consumers, int items) {
    auto queue = std::make_shared<BoundedQueue<Item>>(capacity);
    Taken taken(static_cast<std::size_t>(consumers));
    std::vector<Task> makers;
    std::vector<Task> takers;
    for (int p = 0; p < producers; ++p) {
        makers.push_back(executor.spawn("producer", [queue, p, items] {
            for (int i = 0; i < items; ++i)
                ASSERT_TRUE(queue->push({p, i}));
        }));
    }
    for (auto& own : taken) {
        takers.push_back(executor.spawn("consumer", [queue, &own, capacity] {
            while (auto item = queue->pop()) {
                own.push_back(*item);
                ASSERT_LE(queue->size(), capacity);
            }
        }));
    }
    for (Task& maker : makers)
        maker.join();
    queue->close();
    for (Task& taker : takers)
        taker.join();
    return taken;
}

void expect_all_once(const Taken& taken, int producers, int items) {
    std::map<int, std::vector<int>> of_producer;
    for (const auto& own : taken) {
        std::map<int, int> last;
        for (const Item& item : own) {
            const auto before = last.try_emplace(item.producer, -1).first;
            ASSERT_GT(item.number, before->second) << "one consumer sees a producer's order";
            before->second = item.number;
            of_producer[item.producer].push_back(item.number);
        }
    }
    for (int p = 0; p < producers; ++p) {
        auto& numbers = of_producer[p];
        std::ranges::sort(numbers);
        ASSERT_EQ(numbers.size(), static_cast<std::size_t>(items));
        for (int i = 0; i < items; ++i)
            ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
    }
}

TEST(BoundedQueue, EveryItemOnceOnManySchedules) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const int producers = 1 + static_cast<int>(seed % 4);
        const int consumers = 1 + static_cast<int>(seed / 4 % 3);
        SeededExecutor executor(seed);
        Taken taken;
        executor.spawn("main",
                       [&] { taken = pump(executor, 1 + seed % 5, producers, consumers, 20); });
        executor.run();
        expect_all_once(taken, producers, 20);
    }
}

TEST(BoundedQueue, EveryItemOnceOnThreads) {
    ThreadExecutor executor;
    for (int round = 0; round < 5; ++round)
        expect_all_once(pump(executor, 3, 3, 3, 200), 3, 200);
}

TEST(BoundedQueue, WhatIsInsideCanBeTakenAfterTheClose) {
    BoundedQueue<int> queue(4);
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(queue.push(i));
    queue.close();
    EXPECT_FALSE(queue.push(9));
    EXPECT_EQ(queue.size(), 3U);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(queue.pop(), i);
    EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, AProducerThatWaitsHearsTheClose) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        BoundedQueue<int> queue(1);
        SeededExecutor executor(seed);
        bool refused = false;
        executor.spawn("producer", [&] {
            ASSERT_TRUE(queue.push(1));
            refused = !queue.push(2);
        });
        executor.spawn("closer", [&] {
            executor.sleep_for(1ms);
            queue.close();
        });
        executor.run();
        ASSERT_TRUE(refused) << "seed " << seed;
        ASSERT_EQ(queue.size(), 1U);
    }
}

TEST(BoundedQueue, OfNothingIsAFaultOfOurs) {
    EXPECT_THROW(BoundedQueue<int>(0), InternalError);
}

// ---- ranks of tasks ----------------------------------------------------------------------------

TEST(TaskRank, IsInheritedDownTheLine) {
    SeededExecutor executor(1);
    std::map<std::string, std::optional<int>> ranks;
    const auto note = [&](const char* name) { ranks[name] = TaskState::current().rank(); };
    executor.spawn(
        "main",
        [&] {
            note("main");
            executor.spawn("child", [&] {
                note("child");
                executor.spawn("grandchild", [&] { note("grandchild"); });
                executor.spawn(
                    "other", [&] { note("other"); }, 5);
            });
        },
        2);
    executor.spawn("free", [&] { note("free"); });
    executor.run();
    EXPECT_EQ(ranks["main"], 2);
    EXPECT_EQ(ranks["child"], 2);
    EXPECT_EQ(ranks["grandchild"], 2);
    EXPECT_EQ(ranks["other"], 5);
    EXPECT_EQ(ranks["free"], std::nullopt);
    EXPECT_EQ(TaskState::current().rank(), std::nullopt);
}

TEST(TaskRank, StandsInReportsOfDeadlocks) {
    BoundedQueue<int> queue(1);
    SeededExecutor executor(1);
    executor.spawn(
        "main", [&] { queue.pop(); }, 4);
    executor.spawn("alone", [&] { queue.pop(); });
    try {
        executor.run();
        ADD_FAILURE() << "nobody pushes";
    } catch (const Error& error) {
        EXPECT_THAT(error.where(), ::testing::HasSubstr("rank 4 main waits for an item"));
        EXPECT_THAT(error.where(), ::testing::HasSubstr("; alone waits for an item"));
    }
}

/// A rank that dies takes all of its tasks with it, whatever they are called.
TEST(TaskRank, DeathEndsAllTasksOfARankAndNoOthers) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::map<int, int> beats;
        SeededExecutor executor(seed);
        for (const int rank : {0, 1}) {
            executor.spawn(
                "main",
                [&, rank] {
                    for (int t = 0; t < 3; ++t) {
                        executor.spawn("worker", [&, rank] {
                            for (int i = 0; i < 10; ++i) {
                                executor.sleep_for(1ms);
                                ++beats[rank];
                            }
                        });
                    }
                },
                rank);
        }
        executor.call_at(5500us, [&] { executor.pause(1, no_deadline); });
        executor.run();
        ASSERT_EQ(beats[0], 30);
        ASSERT_EQ(beats[1], 15) << "5 of 10 beats of three tasks";
    }
}

}  // namespace
}  // namespace rudder
