#include "exact_inference.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "rudder/core/parallel.hpp"
#include "train/input_rows.hpp"

namespace rudder::train {

PartScores Inference::run() {
    scores_.resize(g_.parts.size());
    std::size_t ids = 0;
    for (const ChunkedPart& part : g_.parts)
        ids = std::max(ids, part.local_ids());
    memory_.positions.assign(ids, ChunkedPart::nowhere);
    for (std::size_t l = 0; l < network_.layers(); ++l)
        run_layer(l);
    // Rank by rank is part by part: the sums have the same bits however the parts are spread.
    PartScores sums;
    const auto all =
        g_.comm.all_gather(std::span<const PartScores>(scores_), comm::Kind::evaluation);
    for (const auto& rank : all) {
        for (const PartScores& part : rank)
            sums += part;
    }
    return sums;
}

void Inference::run_layer(std::size_t layer) {
    if (!last(layer)) fit(memory_.next, own() * network_.layer_outputs(layer));
    if (layer == 0 && memory_.summed) {
        for (std::size_t p = 0; p < g_.parts.size(); ++p)
            run_summed(p);
        g_.comm.barrier();
    } else {
        read_layer(layer);
    }
    if (layer == 0 && g_.plan.keep_sums) memory_.summed = true;
    if (!last(layer)) std::swap(memory_.present, memory_.next);
    if (g_.plan.stays) return;
    memory_.next = nullptr;
    memory_.mapped = nullptr;
    memory_.kept = nullptr;
    memory_.own = nullptr;
    memory_.slots.clear();
}

/// A layer from what destinations read of their neighbours.
void Inference::read_layer(std::size_t layer) {
    if (layer == 0 && g_.plan.keep_sums) fit(memory_.sums, own() * network_.layer_reads(layer));
    std::optional<LayerInput> input;
    if (maps(layer)) {
        map_own(layer);
        const std::size_t columns = network_.layer_reads(layer);
        input.emplace(g_.comm, g_.ranges, layer, memory_.mapped->span().subspan(0, own() * columns),
                      columns, memory_.kept);
    } else if (layer == 0) {
        input.emplace(g_.ranges, g_.store, memory_.kept);
    } else {
        input.emplace(g_.comm, g_.ranges, layer, present(layer), network_.layer_inputs(layer),
                      memory_.kept);
    }
    for (std::size_t p = 0; p < g_.parts.size(); ++p)
        run_part(layer, p, *input);
    // Others may still ask for rows of this layer, and nobody may for those of the next.
    g_.comm.barrier();
    input->stop();
}

std::size_t Inference::tile_rows() const noexcept {
    const std::uint64_t group = group_rows * g_.store.format().row_floats() * sizeof(float);
    const std::uint64_t bytes = std::min(most_chunk_bytes, g_.plan.layers.front().chunk_bytes);
    return group_rows * std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, group));
}

/// Features of own vertices from `first` on, until the next call.
nn::InputRows Inference::own_features(VertexId first, std::size_t count) {
    const std::size_t row_floats = g_.store.format().row_floats();
    fit(memory_.own, count * row_floats);
    memory_.ids.resize(count);
    std::iota(memory_.ids.begin(), memory_.ids.end(), first);
    const std::span<float> rows = memory_.own->span().subspan(0, count * row_floats);
    const store::RowsWanted wanted{memory_.ids, rows, true};
    static_cast<void>(g_.store.pull(std::span(&wanted, 1), comm::Kind::evaluation).wait());
    return input_rows(g_.store.format(), rows);
}

/// What is read of this rank's rows, made once, for its own vertices and those of other ranks.
void Inference::map_own(std::size_t layer) {
    const std::size_t columns = network_.layer_reads(layer);
    fit(memory_.mapped, own() * columns);
    const std::span<float> mapped = memory_.mapped->span().subspan(0, own() * columns);
    if (layer > 0) return network_.map_rows(layer, present(layer), mapped);
    for (std::size_t at = 0; at < own(); at += tile_rows()) {
        const std::size_t count = std::min(tile_rows(), own() - at);
        network_.map_rows(layer, own_features(g_.ranges.here().begin + at, count),
                          mapped.subspan(at * columns, count * columns));
    }
}

void Inference::run_part(std::size_t layer, std::size_t index, LayerInput& input) {
    const ChunkedPart& part = g_.parts[index];
    const LayerPlan& plan = g_.plan.layers[layer];
    const auto stretches = part.cut(plan.cost, plan.chunk_bytes);
    std::uint64_t sources = 0;
    for (const auto& stretch : stretches)
        sources = std::max(sources, stretch.size.sources);
    std::vector<ChunkSlot>& slots = memory_.slots;
    slots.resize(std::max(slots.size(), plan.slots));
    for (std::size_t s = 0; s < plan.slots; ++s)
        fit(slots[s].memory, sources * input.columns());
    const bool features = layer == 0 && !maps(layer);  // what is read comes from the store
    input.enter(part, plan.keep_halo && stretches.size() > 1);
    const auto begin = [&](std::size_t i) {
        ChunkSlot& slot = slots[i % plan.slots];
        part.fill(stretches[i], memory_.positions, slot.chunk);
        input.begin(slot);
    };
    for (std::size_t i = 0; i < stretches.size(); ++i) {
        if (i == 0 || plan.slots == 1) begin(i);
        if (plan.slots > 1 && i + 1 < stretches.size()) begin(i + 1);
        ChunkSlot& slot = slots[i % plan.slots];
        input.finish(slot);
        gather_degrees(index, slot.chunk);
        compute(layer, index, slot.chunk,
                {.sources = features ? input_rows(g_.store.format(), slot.read) : slot.read,
                 .own = own_rows(layer, index, slot),
                 .degrees = memory_.degrees});
    }
}

/// The first layer of a part, from the sums that are there.
void Inference::run_summed(std::size_t index) {
    const partition::Part& part = g_.parts[index].part();
    for (std::size_t at = 0; at < part.own(); at += tile_rows()) {
        ExactChunk tile;
        tile.first = static_cast<LocalId>(at);
        tile.block.destinations =
            static_cast<std::uint32_t>(std::min<std::size_t>(tile_rows(), part.own() - at));
        compute(0, index, tile,
                {.own = own_features(part.range().begin + at, tile.block.destinations),
                 .summed = true});
    }
}

/// The layer's input rows of a chunk's destinations.
nn::InputRows Inference::own_rows(std::size_t layer, std::size_t index, const ChunkSlot& slot) {
    const partition::Part& part = g_.parts[index].part();
    const std::size_t count = slot.chunk.block.destinations;
    const std::size_t columns = network_.layer_inputs(layer);
    if (layer > 0)
        return present(layer).subspan(row_of(part, slot.chunk.first) * columns, count * columns);
    if (maps(layer)) return own_features(part.range().begin + slot.chunk.first, count);
    const store::RowFormat& format = g_.store.format();
    return input_rows(format, slot.read.subspan(0, count * format.row_floats()));
}

void Inference::gather_degrees(std::size_t index, const ExactChunk& chunk) {
    if (g_.degrees.empty()) return;
    memory_.degrees.resize(chunk.sources.size());
    constexpr std::size_t at_once = std::size_t{1} << 14;
    parallel_chunks(chunk.sources.size(), at_once, [&](const Chunk& some) {
        for (std::size_t i = some.begin; i < some.end; ++i)
            memory_.degrees[i] = g_.degrees[index][chunk.sources[i]];
    });
}

void Inference::compute(std::size_t layer, std::size_t index, const ExactChunk& chunk,
                        nn::LayerRows rows) {
    const std::size_t columns = network_.layer_outputs(layer);
    const std::size_t count = chunk.block.destinations;
    const std::size_t first = row_of(g_.parts[index].part(), chunk.first);
    if (layer == 0 && g_.plan.keep_sums) {
        const std::size_t reads = network_.layer_reads(layer);
        rows.sums = memory_.sums->span().subspan(first * reads, count * reads);
    }
    std::span<float> out;
    if (last(layer)) {
        fit(memory_.answers, count * columns);
        out = memory_.answers->span().subspan(0, count * columns);
    } else {
        out = memory_.next->span().subspan(first * columns, count * columns);
    }
    network_.infer_rows(layer, chunk.block, rows, out);
    if (last(layer)) take_scores(index, chunk, out);
}

void Inference::take_scores(std::size_t index, const ExactChunk& chunk,
                            std::span<const float> scores) {
    const partition::Part& part = g_.parts[index].part();
    if (!g_.options.pairs) {
        add_scores(part, {g_.options.objective, g_.options.outputs, g_.reading}, chunk.first,
                   scores, scores_[index]);
    }
    if (!sink_) return;
    const std::size_t count = chunk.block.destinations;
    std::span<const float> hidden;
    if (network_.layers() > 1) {
        const std::size_t columns = network_.layer_inputs(network_.layers() - 1);
        hidden = present(network_.layers() - 1)
                     .subspan(row_of(part, chunk.first) * columns, count * columns);
    }
    sink_({part, chunk.first, count, scores, hidden});
}

}  // namespace rudder::train
