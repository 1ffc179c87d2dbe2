#include "exact_plan.hpp"

#include <algorithm>

#include "rudder/nn/matmul.hpp"

namespace rudder::train {

namespace {

/// Chunks larger than this gain nothing: their rows no longer stay in the cache between being
/// brought together and being read.
constexpr std::uint64_t most_chunk_bytes = std::uint64_t{16} << 20;

std::uint64_t floats(std::uint64_t count) noexcept {
    return count * sizeof(float);
}

/// What a chunk costs: its rows, its block, and what the network takes to compute it.
ChunkCost cost_of(const PlanInput& input, std::size_t layer) noexcept {
    const std::uint64_t in = input.widths[layer];
    const std::uint64_t out = input.widths[layer + 1];
    const auto grown = [](std::uint64_t bytes) { return bytes + bytes / 8; };
    const bool last = layer + 2 == input.widths.size();
    ChunkCost cost;
    cost.destination = sizeof(std::uint32_t) +
                       grown(floats(nn::aligned_columns(2 * in) + nn::aligned_columns(out))) +
                       (last ? floats(out) : 0);
    cost.source = floats(in) + sizeof(LocalId) + sizeof(VertexId) +
                  (input.maps_sources ? grown(floats(nn::aligned_columns(out))) : 0) +
                  (input.degrees ? sizeof(std::uint32_t) : 0) + (layer == 0 ? input.row_bytes : 0);
    cost.edge = sizeof(LocalId);
    return cost;
}

}  // namespace

ExactPlan plan_exact(const PlanInput& input) {
    std::uint64_t own = 0;
    std::uint64_t local_ids = 0;
    std::uint64_t all_ids = 0;
    std::uint64_t remote = 0;
    for (const ChunkedPart& part : input.parts) {
        own += part.part().own();
        all_ids += part.local_ids();
        local_ids = std::max<std::uint64_t>(local_ids, part.local_ids());
        remote = std::max<std::uint64_t>(remote, part.remote_count());
    }
    const std::uint64_t always =
        local_ids * sizeof(std::uint32_t) + (input.degrees ? all_ids * sizeof(std::uint32_t) : 0);
    ExactPlan plan;
    std::uint64_t most_chunks = 0;
    std::uint64_t most_halo = 0;
    std::vector<std::uint64_t> tables{0, 0};
    const std::size_t layers = input.widths.size() - 1;
    for (std::size_t l = 0; l < layers; ++l) {
        LayerPlan layer;
        layer.cost = cost_of(input, l);
        std::uint64_t least_chunk = 0;
        for (const ChunkedPart& part : input.parts) {
            for (const ChunkSize& group : part.groups())
                least_chunk = std::max(least_chunk, layer.cost.of(group));
        }
        std::uint64_t rows = always;
        if (l > 0) rows += own * floats(input.widths[l]);
        if (l + 1 < layers) {
            rows += own * floats(input.widths[l + 1]);
            tables[l % 2] = std::max(tables[l % 2], own * floats(input.widths[l + 1]));
        }
        plan.least = std::max(plan.least, rows + least_chunk);
        const std::uint64_t left = input.memory > rows ? input.memory - rows : 0;
        // A second chunk is on its way while the first is computed; without other ranks nothing is.
        layer.slots = remote > 0 && left / 2 >= least_chunk ? 2 : 1;
        layer.chunk_bytes = std::max(least_chunk, std::min(most_chunk_bytes, left / layer.slots));
        const std::uint64_t halo = remote * (floats(input.widths[l]) + sizeof(std::uint32_t));
        layer.keep_halo = remote > 0 && layer.slots * layer.chunk_bytes + halo <= left;
        layer.bytes = rows + layer.slots * layer.chunk_bytes + (layer.keep_halo ? halo : 0);
        most_chunks = std::max(most_chunks, layer.slots * layer.chunk_bytes);
        if (layer.keep_halo) most_halo = std::max(most_halo, halo);
        plan.planned = std::max(plan.planned, layer.bytes);
        plan.layers.push_back(layer);
    }
    const std::uint64_t together = always + tables[0] + tables[1] + most_chunks + most_halo;
    plan.stays = together <= input.memory;
    if (plan.stays) plan.planned = together;
    return plan;
}

}  // namespace rudder::train
