#include "exact_chunks.hpp"

#include <algorithm>
#include <limits>

#include "rudder/core/checked.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::train {

ChunkedPart::ChunkedPart(const partition::Part& part, const sample::RowsView& rows,
                         partition::PartitionBook::Range here, Means means, EdgeRows edge_rows)
    : part_(&part), rows_(rows), means_(means), edge_rows_(edge_rows) {
    const bool plain = means == Means::plain;
    const bool bare = edge_rows == EdgeRows::none;
    RUDDER_CHECK(plain || part.info().edge_weight);
    RUDDER_CHECK(bare || part.info().edge_features.present());
    RUDDER_CHECK((plain && bare) || rows.offsets.data() == part.offsets().data());
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
    const auto offsets = rows_.offsets;
    const auto neighbours = rows_.neighbours;
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
    constexpr std::uint64_t most_edges = std::numeric_limits<std::uint32_t>::max();
    std::vector<Stretch> stretches;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (!stretches.empty()) {
            ChunkSize both = stretches.back().size;
            both += groups_[g];
            both.sources = std::min<std::uint64_t>(both.sources, local_ids());
            if (cost.of(both) <= budget && both.edges <= most_edges) {
                stretches.back().size = both;
                stretches.back().end = g + 1;
                continue;
            }
        }
        stretches.push_back({g, g + 1, groups_[g]});
    }
    // A whole part brings all of its rows together, also those that nobody reads.
    if (stretches.size() == 1) stretches.front().size.sources = local_ids();
    return stretches;
}

void ChunkedPart::fill(const Stretch& stretch, std::span<std::uint32_t> positions,
                       ExactChunk& out) const {
    if (!whole(stretch)) return fill_some(stretch, positions, out);
    if (out.whole_of != part_) fill_whole(out);
}

/// Every local id is a source: own ones, those in other own parts, and then those of other ranks.
/// So where each goes is known without looking at the edges.
void ChunkedPart::fill_whole(ExactChunk& out) const {
    const auto own = static_cast<std::size_t>(part_->own());
    const auto offsets = rows_.offsets;
    const auto neighbours = rows_.neighbours;
    const std::size_t here = here_end_ - here_begin_;
    const auto position = [&](LocalId u) {
        if (u < own) return std::size_t{u};
        return remote(u) ? own + here + remote_index(u) : own + (u - here_begin_);
    };
    out.whole_of = part_;
    out.first = 0;
    out.here = narrow<std::uint32_t>(own + here, "rows of a chunk");
    out.sources.resize(local_ids());
    for (std::size_t u = 0; u < local_ids(); ++u)
        out.sources[position(static_cast<LocalId>(u))] = static_cast<LocalId>(u);
    sample::Block& block = out.block;
    block.destinations = static_cast<std::uint32_t>(own);
    block.sources = narrow<std::uint32_t>(local_ids(), "rows of a chunk");
    block.offsets.resize(own + 1);
    for (std::size_t v = 0; v <= own; ++v)
        block.offsets[v] = narrow<std::uint32_t>(offsets[v] - offsets[0], "edges of a chunk");
    block.neighbours.resize(offsets[own] - offsets[0]);
    const LocalId* from = neighbours.data() + offsets[0];
    constexpr std::size_t edges_per_task = std::size_t{1} << 16;
    parallel_chunks(block.neighbours.size(), edges_per_task, [&](const Chunk& chunk) {
        for (std::size_t e = chunk.begin; e < chunk.end; ++e)
            block.neighbours[e] = static_cast<LocalId>(position(from[e]));
    });
    fill_shares(0, block);
    fill_features(0, block);
    fill_types(0, block);
}

void ChunkedPart::fill_types(std::size_t first, sample::Block& block) const {
    const graph::GraphTypes& types = part_->info().types;
    if (!types.present()) return;
    const auto of = rows_.types.subspan(rows_.offsets[first], block.edges());
    block.types.assign(of.begin(), of.end());
    block.destination_types.resize(block.destinations);
    for (std::size_t d = 0; d < block.destinations; ++d)
        block.destination_types[d] = static_cast<std::uint8_t>(types.of(first + d));
}

void ChunkedPart::fill_shares(std::size_t first, sample::Block& block) const {
    block.shares.resize(means_ == Means::weighted ? block.neighbours.size() : 0);
    if (block.shares.empty()) return;
    const float* const weights = part_->edge_data().weight.data() + part_->offsets()[first];
    constexpr std::size_t rows_per_task = std::size_t{1} << 12;
    parallel_chunks(block.destinations, rows_per_task, [&](const Chunk& chunk) {
        for (std::size_t d = chunk.begin; d < chunk.end; ++d) {
            double sum = 0;
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e)
                sum += static_cast<double>(weights[e]);
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
                block.shares[e] =
                    sum > 0 ? static_cast<float>(static_cast<double>(weights[e]) / sum) : 0.F;
            }
        }
    });
}

void ChunkedPart::fill_features(std::size_t first, sample::Block& block) const {
    if (edge_rows_ == EdgeRows::none) return;
    const graph::FeatureView rows = part_->edge_data().features;
    const std::size_t columns = rows.info.width;
    const EdgeIndex first_edge = part_->offsets()[first];
    block.features.resize(block.edges() * columns);
    constexpr std::size_t edges_per_task = std::size_t{1} << 14;
    parallel_chunks(block.edges(), edges_per_task, [&](const Chunk& chunk) {
        for (std::size_t e = chunk.begin; e < chunk.end; ++e) {
            graph::decode_row(rows.info, rows.row(first_edge + e), {},
                              std::span(block.features).subspan(e * columns, columns));
        }
    });
}

void ChunkedPart::fill_some(const Stretch& stretch, std::span<std::uint32_t> positions,
                            ExactChunk& out) const {
    out.whole_of = nullptr;
    const auto own = static_cast<std::size_t>(part_->own());
    const std::size_t begin = stretch.begin * group_rows;
    const std::size_t end = std::min<std::size_t>(stretch.end * group_rows, own);
    const auto offsets = rows_.offsets;
    const EdgeIndex first_edge = offsets[begin];
    const auto edges = rows_.neighbours.subspan(first_edge, offsets[end] - first_edge);
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
    fill_shares(begin, block);
    fill_features(begin, block);
    fill_types(begin, block);
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
