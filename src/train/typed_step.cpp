#include "typed_step.hpp"

#include <algorithm>

#include "edge_numbers.hpp"

namespace rudder::train {

TypeNumbers::TypeNumbers(const partition::PartitionBook& book, const partition::TypeBook& types)
    : book_(&book),
      types_(&types),
      before_(book.parts() * types.types()),
      counts_(types.types(), 0) {
    for (PartId p = 0; p < book.parts(); ++p) {
        for (std::size_t t = 0; t < types.types(); ++t) {
            before_[p * types.types() + t] = counts_[t];
            counts_[t] += types.range(p, t).size();
        }
    }
}

EdgeTypeNumbers::EdgeTypeNumbers(const graph::TopologyView& graph,
                                 std::span<const std::uint8_t> types, const TypeNumbers& vertices,
                                 std::size_t edge_types)
    : graph_(graph), types_(types), vertices_(&vertices), before_(edge_types) {
    std::vector<EdgeIndex> counts(edge_types, 0);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
        const TypeNumbers::Place place = vertices.of(v);
        const auto row = types.subspan(graph.offsets[v], graph.offsets[v + 1] - graph.offsets[v]);
        for (auto at = row.begin(); at != row.end();) {
            const auto end = std::upper_bound(at, row.end(), *at);
            std::vector<EdgeIndex>& before = before_[*at];
            if (before.empty()) before.resize(vertices.count(place.type), 0);
            before[place.number] = counts[*at];
            counts[*at] += static_cast<EdgeIndex>(end - at);
            at = end;
        }
    }
}

std::int64_t* EdgeTypeNumbers::write(VertexId v, std::size_t type,
                                     std::span<const VertexId> vertices,
                                     std::span<const LocalId> drawn, std::int64_t* number) const {
    const EdgeIndex begin = graph_.offsets[v];
    const auto types = types_.subspan(begin, graph_.offsets[v + 1] - begin);
    const auto [from, to] =
        std::equal_range(types.begin(), types.end(), static_cast<std::uint8_t>(type));
    const std::size_t first = begin + static_cast<std::size_t>(from - types.begin());
    const auto count = static_cast<std::size_t>(to - from);
    const auto before = static_cast<std::int64_t>(before_[type][vertices_->of(v).number]);
    graph_.neighbours.visit([&](auto neighbours) {
        number = number_row(neighbours.subspan(first, count), vertices, drawn, before, number);
    });
    return number;
}

TypeSplit::TypeSplit(const graph::DatasetInfo& info, const partition::PartitionBook& book,
                     const partition::TypeBook& types)
    : widest_(info.rows().width), edge_types_(info.types.edges.size()), vertices_(book, types) {
    for (const graph::VertexType& type : info.types.vertices)
        widths_.push_back(type.features.width);
}

void TypeSplit::number_edges(const graph::TopologyView& graph,
                             std::span<const std::uint8_t> types) {
    edges_.emplace(graph, types, vertices_, edge_types_);
}

void TypeSplit::split(const sample::Batch& batch, std::span<const float> rows,
                      LoadedTypes& out) const {
    split_vertices(batch, rows, out);
    split_edges(batch, out);
    if (edges_) write_numbers(batch, out);
}

void TypeSplit::split_vertices(const sample::Batch& batch, std::span<const float> rows,
                               LoadedTypes& out) const {
    const std::size_t hops = batch.blocks.size();
    out.vertices.resize(widths_.size());
    for (LoadedVertices& own : out.vertices) {
        own.ids.clear();
        own.per_hop.assign(hops + 1, 0);
    }
    out.places.resize(batch.vertices.size());
    out.of.resize(batch.vertices.size());
    std::size_t v = 0;
    for (std::size_t hop = 0; hop <= hops; ++hop) {
        const std::size_t end = hop == 0 ? batch.seeds : batch.blocks[hops - hop].sources;
        for (; v < end; ++v) {
            const TypeNumbers::Place place = vertices_.of(batch.vertices[v]);
            LoadedVertices& own = out.vertices[place.type];
            out.of[v] = static_cast<std::uint8_t>(place.type);
            out.places[v] = static_cast<std::int64_t>(own.ids.size());
            own.ids.push_back(static_cast<std::int64_t>(place.number));
            ++own.per_hop[hop];
        }
    }
    for (std::size_t t = 0; t < widths_.size(); ++t)
        out.vertices[t].rows.resize(out.vertices[t].ids.size() * widths_[t]);
    for (v = 0; v < batch.vertices.size(); ++v) {
        const std::size_t type = out.of[v];
        const std::size_t width = widths_[type];
        const auto at = static_cast<std::size_t>(out.places[v]) * width;
        std::copy_n(rows.data() + v * widest_, width, out.vertices[type].rows.data() + at);
    }
}

void TypeSplit::split_edges(const sample::Batch& batch, LoadedTypes& out) const {
    const std::size_t hops = batch.blocks.size();
    out.edges.resize(edge_types_);
    for (LoadedEdges& own : out.edges)
        own.per_hop.assign(hops, 0);
    for (std::size_t hop = 0; hop < hops; ++hop) {
        for (const std::uint8_t type : batch.blocks[hops - 1 - hop].types)
            ++out.edges[type].per_hop[hop];
    }
    struct Ends {
        std::int64_t* source;
        std::int64_t* destination;
    };
    std::vector<Ends> next;
    for (LoadedEdges& own : out.edges) {
        std::int64_t count = 0;
        for (const std::int64_t edges : own.per_hop)
            count += edges;
        own.ends.resize(2 * static_cast<std::size_t>(count));
        own.numbers.clear();
        next.push_back({own.ends.data(), own.ends.data() + count});
    }
    for (std::size_t b = hops; b-- > 0;) {
        const sample::Block& block = batch.blocks[b];
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + std::size_t{1}]; ++e) {
                Ends& ends = next[block.types[e]];
                *ends.source++ = out.places[block.neighbours[e]];
                *ends.destination++ = out.places[d];
            }
        }
    }
}

/// The draws of a destination are in the order of type.
void TypeSplit::write_numbers(const sample::Batch& batch, LoadedTypes& out) const {
    std::vector<std::int64_t*> next;
    for (LoadedEdges& own : out.edges) {
        own.numbers.resize(own.count());
        next.push_back(own.numbers.data());
    }
    for (std::size_t b = batch.blocks.size(); b-- > 0;) {
        const sample::Block& block = batch.blocks[b];
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            const std::uint32_t end = block.offsets[d + std::size_t{1}];
            for (std::uint32_t e = block.offsets[d]; e < end;) {
                const std::uint8_t type = block.types[e];
                std::uint32_t last = e;
                while (last < end && block.types[last] == type)
                    ++last;
                next[type] = edges_->write(batch.vertices[d], type, batch.vertices,
                                           {block.neighbours.data() + e, last - e}, next[type]);
                e = last;
            }
        }
    }
}

}  // namespace rudder::train
