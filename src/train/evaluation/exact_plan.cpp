#include "exact_plan.hpp"

#include <algorithm>
#include <array>

namespace rudder::train {

namespace {

std::uint64_t floats(std::uint64_t count) noexcept {
    return count * sizeof(float);
}

/// What the parts of a rank have.
struct PlanSizes {
    std::uint64_t own = 0;        ///< vertices, of all parts
    std::uint64_t local_ids = 0;  ///< of the part that has most, as those that follow
    std::uint64_t remote = 0;
    std::uint64_t all_ids = 0;  ///< of all parts
};

PlanSizes sizes_of(std::span<const ChunkedPart> parts) {
    PlanSizes sizes;
    for (const ChunkedPart& part : parts) {
        sizes.own += part.part().own();
        sizes.all_ids += part.local_ids();
        sizes.local_ids = std::max<std::uint64_t>(sizes.local_ids, part.local_ids());
        sizes.remote = std::max<std::uint64_t>(sizes.remote, part.remote_count());
    }
    return sizes;
}

/// What a chunk costs: its rows, its block, and what the network takes to compute it.
ChunkCost cost_of(const PlanInput& input, std::size_t index) noexcept {
    const LayerWidths& layer = input.layers[index];
    const bool last = index + 1 == input.layers.size();
    const bool features = index == 0 && !layer.maps();  // what is read comes from the store
    ChunkCost cost;
    cost.destination = sizeof(std::uint32_t) + layer.bytes.destination +
                       (last ? floats(layer.outputs) : 0) +
                       (index == 0 && layer.maps() ? floats(layer.inputs) : 0);
    cost.source = floats(layer.reads) + sizeof(LocalId) + sizeof(VertexId) + layer.bytes.source +
                  (input.degrees ? sizeof(std::uint32_t) : 0) + (features ? input.row_bytes : 0);
    cost.edge = sizeof(LocalId) + (input.shares ? sizeof(float) : 0) + floats(input.edge_columns) +
                layer.bytes.edge;
    return cost;
}

/// The largest group, as a chunk of its own; and the most that a part costs as one chunk.
struct ChunkBounds {
    std::uint64_t least = 0;
    std::uint64_t whole = 0;
};

ChunkBounds bounds_of(std::span<const ChunkedPart> parts, const ChunkCost& cost) {
    ChunkBounds bounds;
    for (const ChunkedPart& part : parts) {
        ChunkSize all;
        for (const ChunkSize& group : part.groups()) {
            bounds.least = std::max(bounds.least, cost.of(group));
            all += group;
        }
        all.sources = part.local_ids();
        bounds.whole = std::max(bounds.whole, cost.of(all));
    }
    return bounds;
}

/// How a layer uses what is left of the memory: whole parts, each row brought together once, where
/// they fit; else chunks, with the rows of other ranks kept where those fit.
void plan_chunks(LayerPlan& layer, const ChunkBounds& bounds, const PlanSizes& sizes,
                 std::uint64_t reads, std::uint64_t left) {
    if (bounds.whole <= left) {
        layer.chunk_bytes = bounds.whole;
        return;
    }
    // A second chunk is on its way while the first is computed; without other ranks nothing is.
    layer.slots = sizes.remote > 0 && left / 2 >= bounds.least ? 2 : 1;
    layer.chunk_bytes = std::max(bounds.least, std::min(most_chunk_bytes, left / layer.slots));
    const std::uint64_t halo = sizes.remote * (floats(reads) + sizeof(std::uint32_t));
    layer.keep_halo = sizes.remote > 0 && layer.slots * layer.chunk_bytes + halo <= left;
}

/// Bytes that a rank holds beside chunks, by what they are for, at the most over the layers.
struct ExactPieces {
    std::uint64_t always = 0;
    std::uint64_t chunks = 0;
    std::uint64_t halo = 0;
    std::uint64_t mapped = 0;
    std::array<std::uint64_t, 2> tables{};

    [[nodiscard]] std::uint64_t sum() const noexcept {
        return always + chunks + halo + mapped + tables[0] + tables[1];
    }
};

}  // namespace

std::vector<LayerWidths> layer_widths(const nn::Network& network, std::uint64_t row_floats) {
    std::vector<LayerWidths> layers;
    for (std::size_t l = 0; l < network.layers(); ++l) {
        const bool maps = network.maps_rows(l);
        const std::uint64_t inputs = l == 0 ? row_floats : network.layer_inputs(l);
        layers.push_back({.inputs = inputs,
                          .reads = maps ? network.layer_reads(l) : inputs,
                          .outputs = network.layer_outputs(l),
                          .sums = network.sums_rows(l),
                          .bytes = network.inference_bytes(l),
                          .mapped = maps});
    }
    return layers;
}

ExactPlan plan_exact(const PlanInput& input) {
    const PlanSizes sizes = sizes_of(input.parts);
    ExactPlan plan;
    ExactPieces most;
    most.always = sizes.local_ids * sizeof(std::uint32_t) +
                  (input.degrees ? sizes.all_ids * sizeof(std::uint32_t) : 0);
    for (std::size_t l = 0; l < input.layers.size(); ++l) {
        const LayerWidths& widths = input.layers[l];
        LayerPlan layer;
        layer.cost = cost_of(input, l);
        const ChunkBounds bounds = bounds_of(input.parts, layer.cost);
        std::uint64_t rows = most.always + widths.bytes.fixed;
        if (l > 0) rows += sizes.own * floats(widths.inputs);
        const std::uint64_t mapped = widths.maps() ? sizes.own * floats(widths.reads) : 0;
        rows += mapped;
        most.mapped = std::max(most.mapped, mapped);
        if (l + 1 < input.layers.size()) {
            const std::uint64_t next = sizes.own * floats(widths.outputs);
            rows += next;
            most.tables[l % 2] = std::max(most.tables[l % 2], next);
        }
        plan.least = std::max(plan.least, rows + bounds.least);
        plan_chunks(layer, bounds, sizes, widths.reads,
                    input.memory > rows ? input.memory - rows : 0);
        const std::uint64_t halo =
            layer.keep_halo ? sizes.remote * (floats(widths.reads) + sizeof(std::uint32_t)) : 0;
        layer.bytes = rows + layer.slots * layer.chunk_bytes + halo;
        most.chunks = std::max(most.chunks, layer.slots * layer.chunk_bytes + widths.bytes.fixed);
        most.halo = std::max(most.halo, halo);
        plan.planned = std::max(plan.planned, layer.bytes);
        plan.layers.push_back(layer);
    }
    plan.stays = most.sum() <= input.memory;
    if (plan.stays) plan.planned = most.sum();
    const LayerWidths& first = input.layers.front();
    const std::uint64_t sums = sizes.own * floats(first.reads);
    plan.keep_sums = plan.stays && input.again && first.sums && plan.planned + sums <= input.memory;
    if (plan.keep_sums) plan.planned += sums;
    return plan;
}

}  // namespace rudder::train
