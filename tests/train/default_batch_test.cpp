// The batch of runs that were not told one: by the partition alone.
#include "train/default_batch.hpp"

#include <gtest/gtest.h>

namespace rudder {
namespace {

std::uint64_t batch_of(VertexId training, PartId parts, double balance) {
    graph::DatasetInfo info;
    info.split.train = training;
    partition::PartitionSummary summary;
    summary.parts = parts;
    summary.train_balance = balance;
    return train::default_batch(info, summary);
}

TEST(DefaultBatch, TheLargestPartHasAbout20Steps) {
    EXPECT_EQ(batch_of(40'000, 4, 1), 500U);
    EXPECT_EQ(batch_of(40'000, 4, 1.1), 550U);
    EXPECT_EQ(batch_of(8'004, 4, 1), 101U) << "rounded up: 20 steps, not 21";
}

TEST(DefaultBatch, IsNeitherTinyNorHuge) {
    EXPECT_EQ(batch_of(0, 1, 1), 32U);
    EXPECT_EQ(batch_of(100, 4, 1), 32U);
    EXPECT_EQ(batch_of(100'000'000, 4, 1.05), 1000U);
}

}  // namespace
}  // namespace rudder
