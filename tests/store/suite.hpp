// What the store's tests share: data sets with rows of any type, and a program for every rank that
// pulls at random and compares all it gets with a direct read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/graph/features.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "store/feature_store.hpp"

namespace rudder::test {

/// A random row of finite elements, any bits else; sometimes all zero.
[[nodiscard]] std::vector<std::byte> random_row(std::uint64_t seed, const graph::FeatureInfo& info);
/// Scales for int8, nothing for other types.
[[nodiscard]] std::vector<float> random_scale(std::uint64_t seed, const graph::FeatureInfo& info);

/// Leaves about one element of a row in so many as it is, and makes the others zero.
void thin_out(std::vector<std::byte>& row, const graph::FeatureInfo& info, std::uint64_t one_in,
              std::uint64_t seed);

/// Writes a data set without edges, with such rows, divided into uneven parts at random; opens it.
partition::PartitionedDataset store_data(const std::filesystem::path& folder,
                                         const graph::FeatureInfo& features,
                                         VertexId vertices = 300, PartId parts = 4,
                                         std::uint64_t seed = 1, std::uint64_t one_in = 1);

/// The floats of an assembled row, all of its columns.
[[nodiscard]] std::vector<float> dense_row(const store::RowFormat& format,
                                           std::span<const float> assembled);

/// The slow, obvious way to a row's floats: one element after the other.
[[nodiscard]] std::vector<float> plain_row(const graph::FeatureInfo& info,
                                           std::span<const std::byte> row,
                                           std::span<const float> scale,
                                           store::Precision precision);

/// How a rank's program pulls.
struct PullPlan {
    std::filesystem::path folder;
    store::StoreOptions options;
    std::uint64_t seed = 0;
    int tasks = 3;            ///< that pull at once
    int pulls = 4;            ///< of each
    std::uint64_t ids = 200;  ///< of a batch, at most
};

/// Collective. Pulls and fetches; throws where a row differs from a direct read or an account does
/// not close.
void pull_and_check(const comm::Communicator& comm, const PullPlan& plan);

}  // namespace rudder::test
