// Data-parallel loops: every element once, exceptions, interrupts, any number of threads.
#include "rudder/core/parallel.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/interrupt.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"

namespace rudder {
namespace {

/// Restores threads and the interrupt flag after each test.
class Parallel : public testing::Test {
protected:
    ~Parallel() override {
        set_interrupted(false);
        set_thread_count(0);
    }
};

TEST_F(Parallel, VisitsEveryElementOnceForAnySizeAndThreads) {
    for (const int threads : {1, 2, 5}) {
        set_thread_count(threads);
        EXPECT_EQ(thread_count(), threads);
        for (const std::size_t count : {0U, 1U, 9U, 10U, 11U, 1000U, 1001U}) {
            for (const std::size_t size : {1U, 10U, 2000U}) {
                std::vector<std::atomic<int>> seen(count);
                std::atomic<std::size_t> chunks{0};
                parallel_chunks(count, size, [&](const Chunk& chunk) {
                    ++chunks;
                    EXPECT_EQ(chunk.begin, chunk.index * size);
                    EXPECT_LT(chunk.begin, chunk.end);
                    for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                        ++seen[i];
                    }
                });
                EXPECT_EQ(chunks, chunk_count(count, size));
                for (const auto& times : seen) {
                    ASSERT_EQ(times, 1);
                }
            }
        }
    }
}

TEST_F(Parallel, ChunkCountNeverOverflows) {
    constexpr auto top = std::numeric_limits<std::size_t>::max();
    EXPECT_EQ(chunk_count(top, 1), top);
    EXPECT_EQ(chunk_count(top, 2), top / 2 + 1);
    EXPECT_EQ(chunk_count(top, top), 1U);
    EXPECT_EQ(chunk_count(0, 5), 0U);
}

TEST_F(Parallel, SumsInChunkOrderAreTheSameForAnyThreads) {
    const auto sum = [] {
        std::vector<double> parts(chunk_count(100000, 777));
        parallel_chunks(100000, 777, [&](const Chunk& chunk) {
            for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                parts[chunk.index] += 1.0 / static_cast<double>(i + 1);
            }
        });
        return std::accumulate(parts.begin(), parts.end(), 0.0);
    };
    set_thread_count(1);
    const double expected = sum();
    for (const int threads : {2, 3, 8}) {
        set_thread_count(threads);
        EXPECT_EQ(sum(), expected);
    }
}

TEST_F(Parallel, RethrowsAnExceptionAndCancelsTheRest) {
    std::atomic<int> ran{0};
    const auto body = [&](const Chunk& chunk) {
        ++ran;
        if (chunk.index == 0) throw std::runtime_error("chunk 0");
    };
    EXPECT_THROW(parallel_chunks(1000000, 1, body), std::runtime_error);
    EXPECT_LT(ran, 1000000);
    EXPECT_THROW(parallel_chunks(1, 1, body), std::runtime_error);
}

TEST_F(Parallel, StopsAtAnInterrupt) {
    std::atomic<int> ran{0};
    try {
        parallel_chunks(1000000, 1, [&](const Chunk&) {
            if (++ran == 10) set_interrupted(true);
        });
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    }
    EXPECT_LT(ran, 1000000);
}

TEST_F(Parallel, LoopsNest) {
    std::atomic<std::size_t> total{0};
    parallel_chunks(10, 1, [&](const Chunk&) {
        parallel_chunks(100, 7, [&](const Chunk& inner) { total += inner.end - inner.begin; });
    });
    EXPECT_EQ(total, 1000U);
}

TEST_F(Parallel, ChunksOfNothingAreABug) {
    EXPECT_THROW(parallel_chunks(10, 0, [](const Chunk&) {}), InternalError);
}

TEST_F(Parallel, ZeroThreadsMeansAllCores) {
    set_thread_count(0);
    EXPECT_EQ(thread_count(), usable_cores());
}

TEST_F(Parallel, ASignalSetsTheFlag) {
    install_interrupt_handler();
    EXPECT_FALSE(interrupted());
    EXPECT_NO_THROW(throw_if_interrupted());
    std::raise(SIGTERM);
    EXPECT_TRUE(interrupted());
    EXPECT_THROW(throw_if_interrupted(), Error);
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
}

TEST(InterruptDeath, ASecondSignalEndsTheProcessWithCode5) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            install_interrupt_handler();
            std::raise(SIGINT);
            std::this_thread::sleep_for(std::chrono::milliseconds(250));
            std::raise(SIGINT);
        },
        testing::ExitedWithCode(5), "");
}

TEST(InterruptDeath, OneThatIsSentTwiceIsOne) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            install_interrupt_handler();
            std::raise(SIGTERM);
            std::raise(SIGTERM);
            std::_Exit(interrupted() ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rudder
