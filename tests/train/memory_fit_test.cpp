// --memory: a run that would need more gives up room in the buffer and steps ahead, and no bit.
#include "train/memory_fit.hpp"

#include <gtest/gtest.h>

#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

class MemoryFit : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {});
        return parts;
    }
    static train::TrainOptions options() {
        train::TrainOptions made = small_options();
        made.policy = "window:16";
        made.buffer = 1;
        made.eval_every = 0;
        return made;
    }

    struct Outcome {
        train::TrainPlan plan;
        std::string given_up;
        std::uint64_t digest = 0;
        std::uint64_t capacity = 0;
    };
    /// Trains within that much memory, if it fits, on four hosts.
    static Outcome run(train::TrainOptions options, std::uint64_t memory) {
        options.memory = memory;
        Outcome seen;
        comm::SimulatedCluster machines({.ranks = 4, .ranks_per_host = 1, .seed = 1});
        machines.run([&](const comm::Communicator& comm) {
            const train::FittedTrainer made = make_fitting_trainer(comm, data(), options);
            const bool first = comm.rank() == 0;
            if (first) seen.plan = made.plan;
            if (first) seen.given_up = made.given_up;
            if (memory != 0 && made.plan.needed_bytes() > memory) return;
            train::TrainObserver nobody;
            const train::TrainResult result = made.trainer->run(nobody);
            if (first) seen.digest = result.digest;
            if (first) seen.capacity = result.capacity;
        });
        return seen;
    }
};

TEST_F(MemoryFit, TheBufferShrinksFirstThenTheLookAhead) {
    constexpr std::uint64_t plenty = std::uint64_t{1} << 40;
    const Outcome all = run(options(), plenty);
    EXPECT_EQ(all.given_up, "");
    ASSERT_GT(all.plan.buffer_bytes, 0U);
    ASSERT_GT(all.plan.queue_bytes, 0U);
    const std::uint64_t buffer = all.plan.buffer_bytes;
    const std::uint64_t rest = all.plan.needed_bytes() - buffer - all.plan.queue_bytes;
    // Batches ahead may take an eighth of the memory.
    const auto memory = [&](std::uint64_t kept) {
        return std::min(rest + kept + all.plan.queue_bytes, (rest + kept) * 8 / 7);
    };

    const Outcome less = run(options(), memory(buffer * 6 / 10));
    EXPECT_EQ(less.digest, all.digest);
    EXPECT_NE(less.given_up.find("the buffer has "), std::string::npos) << less.given_up;
    EXPECT_EQ(less.given_up.find("looked ahead"), std::string::npos) << less.given_up;
    EXPECT_LE(less.plan.needed_bytes(), memory(buffer * 6 / 10));
    EXPECT_LT(less.plan.buffer_bytes, buffer);
    EXPECT_GE(less.plan.buffer_bytes, buffer / 4);
    EXPECT_LT(less.capacity, all.capacity);

    // With less and less the look-ahead gets shorter, before it does not fit at all.
    bool shorter = false;
    for (std::uint64_t limit = memory(buffer / 4); !shorter; limit -= limit / 50) {
        const Outcome least = run(options(), limit);
        ASSERT_LE(least.plan.needed_bytes(), limit) << "does not fit any more";
        EXPECT_EQ(least.digest, all.digest) << limit;
        shorter = least.given_up.find("looked ahead instead of 16") != std::string::npos;
    }
}

TEST_F(MemoryFit, WhatCannotFitIsSaidToNeedMore) {
    const Outcome none = run(options(), 4096);
    EXPECT_GT(none.plan.needed_bytes(), 4096U);
    EXPECT_EQ(none.plan.buffer_bytes, 0U) << "all was tried";
    EXPECT_EQ(none.digest, 0U);
}

TEST_F(MemoryFit, WithoutALimitNothingIsPlanned) {
    const Outcome free = run(options(), 0);
    EXPECT_EQ(free.plan.needed_bytes(), 0U);
    EXPECT_EQ(free.given_up, "");
    EXPECT_NE(free.digest, 0U);
}

}  // namespace
}  // namespace rudder::test
