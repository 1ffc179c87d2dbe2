#include "edge_blocks.hpp"

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t edges_per_block = 1 << 15;

}  // namespace

EdgeIndex EdgeBlocks::edges() const {
    EdgeIndex sum = 0;
    for (const EdgeBlock& block : blocks_)
        sum += block.narrow.size() + block.wide.size();
    return sum;
}

void EdgeBlocks::walk(Narrow narrow, Wide wide) const {
    parallel_chunks(blocks_.size(), 1, [&](const Chunk& chunk) {
        const EdgeBlock& block = blocks_[chunk.index];
        if (!block.narrow.empty()) narrow(block.narrow);
        if (!block.wide.empty()) wide(block.wide);
    });
}

void EdgeColumns::add(IdArray sources, IdArray targets) {
    sets_.emplace_back(std::move(sources), std::move(targets));
}

EdgeIndex EdgeColumns::edges() const {
    EdgeIndex sum = 0;
    for (const auto& set : sets_)
        sum += set.first.size();
    return sum;
}

void EdgeColumns::walk_numbered(NarrowFrom narrow, WideFrom wide) const {
    EdgeIndex base = 0;
    for (const auto& set : sets_) {
        const IdSpan sources = set.first.span();
        const IdSpan targets = set.second.span();
        parallel_chunks(sources.size(), edges_per_block, [&](const Chunk& chunk) {
            if (sources.wide() || targets.wide()) {
                std::vector<Edge> block;
                for (std::size_t i = chunk.begin; i < chunk.end; ++i)
                    block.push_back({sources[i], targets[i]});
                wide(block, base + chunk.begin);
                return;
            }
            std::vector<NarrowEdge> block(chunk.end - chunk.begin);
            for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                block[i - chunk.begin] = {static_cast<std::uint32_t>(sources[i]),
                                          static_cast<std::uint32_t>(targets[i])};
            }
            narrow(block, base + chunk.begin);
        });
        base += sources.size();
    }
}

void check_vertex_count(VertexId vertices, std::uint64_t evidence, const std::string& where) {
    constexpr VertexId always_fine = VertexId{1} << 22;
    constexpr VertexId per_unit = 64;
    if (vertices <= always_fine || vertices / per_unit <= evidence) return;
    throw input_error(
        fmt::format("{} vertices cannot be meant in an input of this size", vertices), where,
        "correct the ids or the count; for a graph with isolated vertices, give --vertices");
}

VertexId bound_of(const std::vector<EdgeBlock>& blocks) {
    VertexId bound = 0;
    for (const EdgeBlock& block : blocks)
        bound = std::max(bound, block.bound);
    return bound;
}

}  // namespace rudder::graph
