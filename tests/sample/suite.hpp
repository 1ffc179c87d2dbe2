// A whole run of the sampling layer on ranks, the same under every body of the communicator.
#pragma once

#include <string>

#include "comm/message_coder.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/sample/batch.hpp"
#include "sample/schedule.hpp"

namespace rudder::test {

struct SamplingRun {
    bool partitioned = false;
    int tasks = 1;
    std::uint64_t window = 4;
    sample::SeedOrder order = sample::SeedOrder::random;
    std::uint64_t batch = 16;
    std::uint64_t max_bytes = 0;
    sample::Sampler sampler = sample::Sampler::plain;
    std::uint64_t redraw = 1;
    comm::CodingMode coding = comm::CodingMode::off;  ///< of partitioned topology
    bool weighted = false;
    bool edge_features = false;
    sample::Temporal temporal = sample::Temporal::off;
};

/// Samples three epochs and a bit through the look-ahead queue; the same text on every rank: a
/// digest of all batches of all parts, step by step. Collective; ranks must divide the parts.
[[nodiscard]] std::string run_sampling(const comm::Communicator& comm,
                                       const partition::PartitionedDataset& data,
                                       const SamplingRun& options);

/// The parts that this rank holds: an equal stretch each.
[[nodiscard]] std::vector<partition::Part> own_parts(const comm::Communicator& comm,
                                                     const partition::PartitionedDataset& data);

}  // namespace rudder::test
