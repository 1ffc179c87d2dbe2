// What a buffer needs to know before the first step: sizes, the halo, degrees, inclusion.
#pragma once

#include <span>
#include <vector>

#include "rudder/buffer/live_buffer.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/sample/neighbour_source.hpp"
#include "rudder/sample/sampler.hpp"
#include "rudder/sample/schedule.hpp"
#include "rudder/train/options.hpp"

namespace rudder {

/// The parts of a trainer that a buffer is set up from.
struct BufferGround {
    const Communicator& comm;
    const PartitionedDataset& data;
    std::span<const Part> parts;  ///< of this rank
    const Schedule& schedule;
    const NeighbourSource& source;
    const FeatureStore& store;
    const TrainOptions& options;
    SamplerOptions sampler;
    std::uint64_t memory;  ///< of the host
};

struct BufferSetup {
    PolicySpec policy;
    bool used = false;       ///< false: every row is pulled
    SlotId slots = 0;        ///< on the first rank that shares the buffer
    SlotId floor_slots = 0;  ///< the same, but also without a buffer
    std::vector<LocalRange> local;
    std::uint64_t parts = 1;  ///< that share the buffer
    HaloFacts facts;

    /// Vertices of the parts that share the buffer.
    [[nodiscard]] std::uint64_t own_vertices() const noexcept {
        std::uint64_t own = 0;
        for (const LocalRange& range : local)
            own += range.end - range.begin;
        return own;
    }
};

/// Collective. A buffer larger than the host's memory is a usage Error on all ranks.
[[nodiscard]] BufferSetup set_up_buffer(const BufferGround& ground);

}  // namespace rudder
