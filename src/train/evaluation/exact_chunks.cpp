#include "exact_chunks.hpp"

#include <algorithm>

#include "rudder/core/checked.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::train {

ChunkedPart::ChunkedPart(const partition::Part& part, partition::PartitionBook::Range here)
    : part_(&part) {
    const auto halo = part.halo();
    const auto local = [&](VertexId v) {
        return part.own() +
               static_cast<std::size_t>(std::ranges::lower_bound(halo, v) - halo.begin());
    };
    here_begin_ = local(here.begin);
    here_end_ = local(here.end);
    count_groups();
}

void ChunkedPart::count_groups() {
    const auto own = static_cast<std::size_t>(part_->own());
    const auto offsets = part_->offsets();
    const auto neighbours = part_->neighbours();
    groups_.resize(chunk_count(own, group_rows));
    std::vector<std::uint32_t> last_group(local_ids(), nowhere);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const std::size_t begin = g * group_rows;
        const std::size_t end = std::min<std::size_t>(begin + group_rows, own);
        const auto stamp = static_cast<std::uint32_t>(g);
        std::fill(last_group.begin() + static_cast<std::ptrdiff_t>(begin),
                  last_group.begin() + static_cast<std::ptrdiff_t>(end), stamp);
        ChunkSize size{end - begin, end - begin, offsets[end] - offsets[begin]};
        for (const LocalId u : neighbours.subspan(offsets[begin], size.edges)) {
            size.sources += last_group[u] != stamp ? 1U : 0U;
            last_group[u] = stamp;
        }
        groups_[g] = size;
    }
}

std::vector<ChunkedPart::Stretch> ChunkedPart::cut(const ChunkCost& cost,
                                                   std::uint64_t budget) const {
    std::vector<Stretch> stretches;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (!stretches.empty()) {
            ChunkSize both = stretches.back().size;
            both += groups_[g];
            if (cost.of(both) <= budget) {
                stretches.back().size = both;
                stretches.back().end = g + 1;
                continue;
            }
        }
        stretches.push_back({g, g + 1, groups_[g]});
    }
    return stretches;
}

void ChunkedPart::fill(const Stretch& stretch, std::span<std::uint32_t> positions,
                       ExactChunk& out) const {
    const auto own = static_cast<std::size_t>(part_->own());
    const std::size_t begin = stretch.begin * group_rows;
    const std::size_t end = std::min<std::size_t>(stretch.end * group_rows, own);
    const auto offsets = part_->offsets();
    const EdgeIndex first_edge = offsets[begin];
    const auto edges = part_->neighbours().subspan(first_edge, offsets[end] - first_edge);
    out.first = static_cast<LocalId>(begin);
    out.sources.clear();
    for (std::size_t v = begin; v < end; ++v) {
        positions[v] = static_cast<std::uint32_t>(v - begin);
        out.sources.push_back(static_cast<LocalId>(v));
    }
    // Rows of other ranks are seen first and placed later: behind all others, by owner.
    constexpr std::uint32_t seen = nowhere - 1;
    RawVector<LocalId> elsewhere;
    for (const LocalId u : edges) {
        if (positions[u] != nowhere) continue;
        if (remote(u)) {
            positions[u] = seen;
            elsewhere.push_back(u);
        } else {
            positions[u] = static_cast<std::uint32_t>(out.sources.size());
            out.sources.push_back(u);
        }
    }
    out.here = narrow<std::uint32_t>(out.sources.size(), "rows of a chunk");
    std::ranges::sort(elsewhere);
    for (const LocalId u : elsewhere) {
        positions[u] = static_cast<std::uint32_t>(out.sources.size());
        out.sources.push_back(u);
    }
    sample::Block& block = out.block;
    block.destinations = static_cast<std::uint32_t>(end - begin);
    block.sources = narrow<std::uint32_t>(out.sources.size(), "rows of a chunk");
    block.offsets.resize(end - begin + 1);
    for (std::size_t v = begin; v <= end; ++v) {
        block.offsets[v - begin] =
            narrow<std::uint32_t>(offsets[v] - first_edge, "edges of a chunk");
    }
    block.neighbours.resize(edges.size());
    for (std::size_t e = 0; e < edges.size(); ++e)
        block.neighbours[e] = positions[edges[e]];
    for (const LocalId u : out.sources)
        positions[u] = nowhere;
}

std::vector<VertexId> ChunkedPart::remote_ids() const {
    const auto halo = part_->halo();
    const auto own = static_cast<std::size_t>(part_->own());
    std::vector<VertexId> ids;
    ids.reserve(remote_count());
    ids.insert(ids.end(), halo.begin(),
               halo.begin() + static_cast<std::ptrdiff_t>(here_begin_ - own));
    ids.insert(ids.end(), halo.begin() + static_cast<std::ptrdiff_t>(here_end_ - own), halo.end());
    return ids;
}

}  // namespace rudder::train
