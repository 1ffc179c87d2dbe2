// Exact inference under test: on any number of ranks, and by slow simple code.
#pragma once

#include <optional>
#include <vector>

#include "train/fixture.hpp"
#include "train/prediction/inference.hpp"

namespace rudder::test {

/// A network with random weights for a data set.
[[nodiscard]] train::SavedNetwork random_network(const partition::PartitionedDataset& data,
                                                 int layers, std::uint64_t hidden,
                                                 std::uint64_t seed = 5,
                                                 const std::string& model = "sage");

/// The scores and last hidden rows of all vertices, by id of the partitioned data set.
struct AllRows {
    std::vector<float> scores;
    std::vector<float> hidden;
    train::Scores sums;
    std::array<std::uint64_t, 3> scored{};
    friend bool operator==(const AllRows& a, const AllRows& b);
};

/// On one rank, and on simulated ones. Fails where a vertex comes twice or not at all.
[[nodiscard]] AllRows infer_alone(const partition::PartitionedDataset& data,
                                  const train::SavedNetwork& saved, std::uint64_t memory = 0);
[[nodiscard]] AllRows infer_simulated(const partition::PartitionedDataset& data,
                                      const train::SavedNetwork& saved,
                                      const comm::SimulationOptions& cluster,
                                      std::uint64_t memory = 0);

/// The same by plain loops over the whole graph, in double precision; sums of losses by formula.
[[nodiscard]] AllRows infer_naively(const partition::PartitionedDataset& data,
                                    const train::SavedNetwork& saved);

/// The scores of all vertices by one pass of the network over the whole graph as one batch.
[[nodiscard]] std::vector<float> predict_at_once(const partition::PartitionedDataset& data,
                                                 const train::SavedNetwork& saved);

/// Fails unless all rows are equal to 1e-5, and sums to what that allows.
void expect_near(const AllRows& exact, const AllRows& naive);

}  // namespace rudder::test
