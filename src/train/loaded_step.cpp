#include "loaded_step.hpp"

#include <algorithm>
#include <utility>

#include "edge_numbers.hpp"

namespace rudder::train {

namespace {

/// The numbers of a block's edges, in their order.
template <class Id>
std::int64_t* number_block(std::span<const EdgeIndex> offsets, std::span<const Id> neighbours,
                           std::span<const VertexId> vertices, const sample::Block& block,
                           std::int64_t* number) {
    for (std::uint32_t d = 0; d < block.destinations; ++d) {
        const VertexId v = vertices[d];
        const std::span<const Id> row = neighbours.subspan(offsets[v], offsets[v + 1] - offsets[v]);
        const std::size_t begin = block.offsets[d];
        const std::span<const LocalId> drawn(block.neighbours.data() + begin,
                                             block.offsets[d + std::size_t{1}] - begin);
        number = number_row(row, vertices, drawn, static_cast<std::int64_t>(offsets[v]), number);
    }
    return number;
}

}  // namespace

void number_edges(const graph::TopologyView& graph, const sample::Batch& batch,
                  LoadedBatch& loaded) {
    loaded.edge_numbers.resize(batch.edges());
    graph.neighbours.visit([&](auto neighbours) {
        std::int64_t* number = loaded.edge_numbers.data();
        for (std::size_t b = batch.blocks.size(); b-- > 0;) {
            number =
                number_block(graph.offsets, neighbours, std::span<const VertexId>(batch.vertices),
                             batch.blocks[b], number);
        }
    });
}

void list_pairs(const sample::Batch& batch, std::uint32_t group, LoadedBatch& loaded) {
    const nn::SeedPairs pairs = loaded.pair_reader.gather(batch, group).pairs;
    const std::size_t links = pairs.size() / group;
    loaded.pairs.resize(2 * pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const std::size_t place = i % group * links + i / group;
        loaded.pairs[place] = pairs.sources[i];
        loaded.pairs[pairs.size() + place] = pairs.targets[i];
    }
}

void list_edges(const sample::Batch& batch, LoadedBatch& loaded) {
    const std::uint64_t count = batch.edges();
    loaded.edges.resize(2 * count);
    std::int64_t* source = loaded.edges.data();
    std::int64_t* destination = source + count;
    for (std::size_t b = batch.blocks.size(); b-- > 0;) {
        const sample::Block& block = batch.blocks[b];
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            const std::uint32_t end = block.offsets[d + std::size_t{1}];
            for (std::uint32_t e = block.offsets[d]; e < end; ++e) {
                *source++ = block.neighbours[e];
                *destination++ = d;
            }
        }
    }
}

std::shared_ptr<LoadedStep> StepPool::take() {
    std::unique_ptr<LoadedStep> step;
    {
        const std::scoped_lock lock(mutex_);
        if (!free_.empty()) {
            step = std::move(free_.back());
            free_.pop_back();
        }
    }
    if (step == nullptr) step = std::make_unique<LoadedStep>();
    const auto back = [pool = weak_from_this()](LoadedStep* held) {
        std::unique_ptr<LoadedStep> owned(held);
        if (const auto alive = pool.lock()) alive->give_back(std::move(owned));
    };
    return {step.release(), back};
}

std::size_t StepPool::kept() const {
    const std::scoped_lock lock(mutex_);
    return free_.size();
}

void StepPool::give_back(std::unique_ptr<LoadedStep> step) {
    const std::scoped_lock lock(mutex_);
    if (free_.size() < most_) free_.push_back(std::move(step));
}

}  // namespace rudder::train
