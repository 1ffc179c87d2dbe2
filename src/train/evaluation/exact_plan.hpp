// How exact inference uses the memory it may have: what it keeps, and how large its chunks are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/nn/network.hpp"

#include "exact_chunks.hpp"

namespace rudder::train {

/// One layer's share of the memory.
struct LayerPlan {
    ChunkCost cost;
    std::uint64_t chunk_bytes = 0;  ///< what a chunk may cost (more, if a single group does)
    std::size_t slots = 1;          ///< chunks that exist at once
    bool keep_halo = false;         ///< rows of other ranks stay for all chunks of a part
    std::uint64_t bytes = 0;        ///< of all of it
};

struct ExactPlan {
    std::vector<LayerPlan> layers;
    /// There is room for the largest of every piece of memory at once: each stays for the layers
    /// and evaluations to come, which saves the kernel clearing it again.
    bool stays = false;
    std::uint64_t least = 0;    ///< bytes without which it cannot be done
    std::uint64_t planned = 0;  ///< bytes of the layer that takes most
};

/// What a plan is made from. Widths are those of the network's layers: its inputs, then the outputs
/// of each layer.
struct PlanInput {
    std::span<const ChunkedPart> parts;
    std::vector<std::uint64_t> widths;
    std::uint64_t row_bytes = 0;  ///< of a feature row on the wire
    bool degrees = false;
    bool maps_sources =
        false;  ///< the network computes something of every source, as wide as its outputs
    std::uint64_t memory = 0;
};
/// The plan; `least` above the memory given means that there is none.
[[nodiscard]] ExactPlan plan_exact(const PlanInput& input);

}  // namespace rudder::train
