// How exact inference uses the memory it may have: what it keeps, and how large its chunks are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/nn/network.hpp"

#include "exact_chunks.hpp"

namespace rudder::train {

/// Chunks of some rows larger than this gain nothing: what was brought together no longer stays in
/// the cache until it is read.
inline constexpr std::uint64_t most_chunk_bytes = std::uint64_t{16} << 20;

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
    /// And for what the first layer's destinations sum up of the features, which is the same in
    /// every evaluation.
    bool keep_sums = false;
    std::uint64_t least = 0;    ///< bytes without which it cannot be done
    std::uint64_t planned = 0;  ///< bytes of the layer that takes most
};

/// What a layer of the network takes and gives, in floats per row, and takes besides, in bytes.
struct LayerWidths {
    std::uint64_t inputs = 0;
    std::uint64_t reads = 0;  ///< of what destinations read; other than inputs: rows are mapped
    std::uint64_t outputs = 0;
    bool sums = false;  ///< it sums up its input before weights come in
    nn::InferenceBytes bytes;
    bool mapped = false;  ///< rows are, even if as many columns are read as there are

    [[nodiscard]] bool maps() const noexcept { return mapped || reads != inputs; }
};
/// `row_floats` are those of an assembled row of features.
[[nodiscard]] std::vector<LayerWidths> layer_widths(const nn::Network& network,
                                                    std::uint64_t row_floats);

/// What a plan is made from.
struct PlanInput {
    std::span<const ChunkedPart> parts;
    std::vector<LayerWidths> layers;
    std::uint64_t row_bytes = 0;  ///< of a feature row on the wire
    bool degrees = false;
    bool shares = false;             ///< means are weighted
    std::uint64_t edge_columns = 0;  ///< of the features of edges that blocks have
    bool again = false;              ///< there will be more than one evaluation
    std::uint64_t memory = 0;
};
/// The plan; `least` above the memory given means that there is none.
[[nodiscard]] ExactPlan plan_exact(const PlanInput& input);

}  // namespace rudder::train
