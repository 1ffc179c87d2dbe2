// Whose turn it is in a shared buffer, and a numbering that is read while it grows.
#include <thread>

#include <gtest/gtest.h>

#include "buffer/live/step_turns.hpp"
#include "core/executor/seeded_executor.hpp"
#include "rudder/buffer/row_numbering.hpp"

namespace rudder::test {
namespace {

TEST(Numbering, MayBeReadWhileItGrows) {
    constexpr std::size_t count = 200000;
    buffer::VertexList list;
    std::thread reader([&] {
        std::size_t seen = 0;
        while (seen < count) {
            const std::size_t size = list.size();
            for (; seen < size; ++seen)
                ASSERT_EQ(list[seen], 3 * seen);
        }
    });
    for (std::size_t i = 0; i < count; ++i)
        list.push_back(3 * i);
    reader.join();
    EXPECT_EQ(list.size(), count);
    EXPECT_GE(list.bytes(), count * sizeof(VertexId));
    for (const std::size_t i : {std::size_t{0}, std::size_t{1023}, std::size_t{1024},
                                std::size_t{3071}, std::size_t{3072}, count - 1})
        EXPECT_EQ(list[i], 3 * i);
}

TEST(Turns, ComeInOrderOnceAllRanksKnowAndWantTheStep) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        SeededExecutor executor(seed);
        executor.spawn("main", [&] {
            buffer::StepTurns turns(5, 3);
            std::vector<std::uint64_t> begun;
            std::vector<Task> tasks;
            for (const std::uint64_t step : {7U, 5U, 6U}) {
                tasks.push_back(Executor::current().spawn("step", [&, step] {
                    ASSERT_TRUE(turns.wait(step));
                    begun.push_back(step);
                    turns.begun();
                }));
            }
            for (const int member : {1, 2}) {
                tasks.push_back(Executor::current().spawn("member", [&, member] {
                    for (const std::uint64_t step : {5U, 6U, 7U})
                        turns.wanted(member, step);
                }));
            }
            turns.published(7);
            turns.published(6);  // behind
            turns.published(8);
            for (Task& task : tasks)
                task.join();
            EXPECT_EQ(begun, (std::vector<std::uint64_t>{5, 6, 7}));
        });
        executor.run();
    }
}

/// A step that is to be seen beyond waits for members that have not looked so far.
TEST(Turns, WaitUntilAllMembersHaveLookedAsFar) {
    SeededExecutor executor(3);
    executor.spawn("main", [] {
        buffer::StepTurns turns(0, 3);
        turns.published(1);
        for (const int member : {1, 2}) {
            turns.wanted(member, 0);
            turns.looked(member, 4);
        }
        EXPECT_TRUE(turns.wait(0, 4));
        bool seen = false;
        Task waiting = Executor::current().spawn("step", [&] {
            EXPECT_TRUE(turns.wait(0, 32));
            seen = true;
        });
        const auto pause = [] { Executor::current().sleep_for(std::chrono::milliseconds(1)); };
        turns.looked(1, 32);
        pause();
        EXPECT_FALSE(seen) << "member 2 has not";
        turns.looked(2, 31);
        pause();
        EXPECT_FALSE(seen);
        turns.looked(2, 40);
        turns.looked(2, 5);  // behind
        waiting.join();
        EXPECT_TRUE(seen);
        EXPECT_TRUE(turns.wait(0, 32));
        Task halted = Executor::current().spawn("step", [&] { EXPECT_FALSE(turns.wait(0, 41)); });
        turns.halt();
        halted.join();
    });
    executor.run();
}

TEST(Turns, EndWhenHaltedOrFailed) {
    SeededExecutor executor(1);
    executor.spawn("main", [] {
        buffer::StepTurns turns(0, 0);
        Task waiting = Executor::current().spawn("step", [&] { EXPECT_FALSE(turns.wait(0)); });
        turns.halt();
        waiting.join();
        buffer::StepTurns broken(0, 0);
        broken.fail(std::make_exception_ptr(std::runtime_error("first")));
        broken.fail(std::make_exception_ptr(std::runtime_error("second")));
        try {
            static_cast<void>(broken.wait(0));
            FAIL();
        } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "first");
        }
    });
    executor.run();
}

}  // namespace
}  // namespace rudder::test
