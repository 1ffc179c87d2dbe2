#include "typed_block.hpp"

#include <algorithm>

#include "rudder/core/check.hpp"

namespace rudder::nn {

void TypedBlock::set(const sample::Block& block, const TypedInputs& types, Ways ways,
                     Sources sources) {
    RUDDER_CHECK(block.destination_types.size() == block.destinations &&
                 block.types.size() == block.edges());
    shares_ = !block.shares.empty();
    destinations_.resize(types.vertices.size());
    for (RawVector<std::uint32_t>& list : destinations_)
        list.clear();
    edges_.resize(types.edges.size());
    for (OfEdges& of : edges_) {
        of.rows.neighbours.clear();
        of.rows.shares.clear();
        of.rows.offsets.assign(1, 0);
        of.rows.sources = block.sources;
    }
    for (std::uint32_t d = 0; d < block.destinations; ++d) {
        const std::uint8_t type = block.destination_types[d];
        destinations_[type].push_back(d);
        const std::uint32_t end = block.offsets[d + std::size_t{1}];
        for (std::uint32_t e = block.offsets[d]; e < end; ++e) {
            sample::Block& rows = edges_[block.types[e]].rows;
            rows.neighbours.push_back(block.neighbours[e]);
            if (shares_) rows.shares.push_back(block.shares[e]);
        }
        for (std::size_t t = 0; t < types.edges.size(); ++t) {
            if (types.edges[t].to == type) edges_[t].rows.offsets.push_back(edges_[t].rows.edges());
        }
    }
    for (std::size_t t = 0; t < edges_.size(); ++t) {
        OfEdges& of = edges_[t];
        of.rows.destinations = static_cast<std::uint32_t>(of.rows.offsets.size() - 1);
        RUDDER_CHECK(of.rows.destinations == destinations_[types.edges[t].to].size());
        RUDDER_CHECK(of.rows.offsets.back() == of.rows.edges());
        if (sources == Sources::read) number_sources(of, block.sources);
        if (ways == Ways::forth) continue;
        of.reader_offsets.resize(std::size_t{of.rows.sources} + 1);
        of.readers.resize(of.rows.edges());
        of.reader_edges.resize(of.rows.edges());
        transpose(of.rows, of.transposed());
    }
}

void TypedBlock::number_sources(OfEdges& of, std::uint32_t all) {
    constexpr std::uint32_t unread = ~std::uint32_t{0};
    numbers_.assign(all, unread);
    for (const LocalId source : of.rows.neighbours)
        numbers_[source] = 0;
    of.sources.clear();
    for (std::uint32_t source = 0; source < all; ++source) {
        if (numbers_[source] == unread) continue;
        numbers_[source] = static_cast<std::uint32_t>(of.sources.size());
        of.sources.push_back(source);
    }
    for (LocalId& source : of.rows.neighbours)
        source = numbers_[source];
    of.rows.sources = static_cast<std::uint32_t>(of.sources.size());
}

TypedBlock::Stretch TypedBlock::stretch(std::span<const std::uint32_t> positions, std::size_t first,
                                        std::size_t count) noexcept {
    const auto begin = std::ranges::lower_bound(positions, first);
    const auto end = std::ranges::lower_bound(positions, first + count);
    return {static_cast<std::size_t>(begin - positions.begin()),
            static_cast<std::size_t>(end - begin)};
}

}  // namespace rudder::nn
