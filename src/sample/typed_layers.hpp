// The layers of a batch in a graph of several types: each type of edges is drawn for itself.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "rudder/core/check.hpp"
#include "rudder/core/raw_vector.hpp"
#include "rudder/sample/batch.hpp"

#include "draw_rows.hpp"
#include "left_out_edges.hpp"
#include "neighbour_source.hpp"
#include "relabelling.hpp"
#include "sampler.hpp"

namespace rudder::sample {

/// What seeds of one type leave out, by their place among those of it.
struct LeftOutOfType {
    RawVector<std::uint32_t> offsets;
    RawVector<VertexId> neighbours;

    [[nodiscard]] LeftOut view() const noexcept { return {offsets, neighbours}; }
};

/// Memory of such draws.
struct TypedMemory {
    std::vector<DrawnNeighbours> drawn;          ///< by type of edges, with what each keeps
    std::vector<RawVector<VertexId>> of_type;    ///< destinations by type of vertices
    std::vector<RawVector<std::int64_t>> times;  ///< theirs, where seeds have times
    std::vector<std::vector<std::size_t>> into;  ///< types of edges by the type that they lead to
    RawVector<std::uint8_t> types;               ///< of the batch's vertices so far
    std::vector<LeftOutOfType> left_out;         ///< of batches of links, by type of vertices
    RawVector<std::uint32_t> narrow;             ///< ids of a layer, of either width
    RawVector<VertexId> wide;

    template <class Id>
    [[nodiscard]] RawVector<Id>& ids() noexcept {
        if constexpr (std::is_same_v<Id, VertexId>) {
            return wide;
        } else {
            return narrow;
        }
    }
};

/// Prepares the memory for a graph.
void begin_typed(const TypedSampling& types, TypedMemory& memory);
/// Tells the types of vertices that have come since, and lists destinations by type.
void list_types(const TypedSampling& types, std::span<const VertexId> destinations,
                TypedMemory& memory);
/// Lists the times of destinations, whose types are told, by type.
void list_times(std::span<const std::int64_t> times, TypedMemory& memory);
/// Lists by type what seeds, whose types are told, leave out.
void list_left_out(const LeftOut& all, std::uint32_t seeds, TypedMemory& memory);
/// Draws all types of edges of a layer. A type draws from a stream of its own; those of `links` are
/// drawn without what is left out.
void draw_types(const NeighbourSource& source, const SamplerOptions& options,
                const DrawRequest& request, std::size_t layer,
                const std::optional<LinkTypes>& links, TypedMemory& memory);

/// Puts what was drawn together: the neighbours of each destination in the order of type.
template <class Id>
void merge_types(const SamplerOptions& options, std::uint32_t destinations, TypedMemory& memory,
                 Block& block) {
    std::size_t edges = 0;
    for (const DrawnNeighbours& of : memory.drawn)
        edges += of.offsets.empty() ? 0 : of.offsets.back();
    if (edges > std::numeric_limits<std::uint32_t>::max()) throw_too_many_edges();
    RawVector<Id>& ids = memory.template ids<Id>();
    ids.resize(edges);
    block.types.resize(edges);
    block.shares.resize(options.weighted ? edges : 0);
    block.offsets.resize(std::size_t{destinations} + 1);
    block.offsets[0] = 0;
    std::vector<std::size_t> next(memory.of_type.size(), 0);
    std::size_t at = 0;
    for (std::uint32_t d = 0; d < destinations; ++d) {
        const std::size_t type = memory.types[d];
        const std::size_t i = next[type]++;
        for (const std::size_t of : memory.into[type]) {
            DrawnNeighbours& drawn = memory.drawn[of];
            const Id* const from = drawn.template ids<Id>().data();
            for (std::uint32_t e = drawn.offsets[i]; e < drawn.offsets[i + 1]; ++e, ++at) {
                ids[at] = from[e];
                block.types[at] = static_cast<std::uint8_t>(of);
                if (options.weighted) block.shares[at] = drawn.shares[e];
            }
        }
        block.offsets[d + std::size_t{1}] = static_cast<std::uint32_t>(at);
    }
}

/// What a batch is asked for.
struct TypedSeeds {
    std::span<const VertexId> ids;
    const LinkIds* links;           ///< null: seeds are vertices
    RawVector<LocalId>& positions;  ///< which seed each of the ids is: written
    LeftOutEdges& left_out;         ///< memory
};

/// Fills the blocks of a batch.
template <class Map>
void sample_typed_layers(const NeighbourSource& source, const SamplerOptions& options, Map& map,
                         TypedMemory& memory, const TypedSeeds& seeds, Batch& out) {
    using Id = typename Map::Id;
    const std::size_t layers = options.fanout.size();
    Relabelling<Map> relabelling(map, out.vertices);
    seeds.positions.resize(seeds.ids.size());
    relabelling.template enter<VertexId>(seeds.ids, seeds.positions.data());
    // Vertices as seeds are distinct.
    RUDDER_CHECK(seeds.links != nullptr || relabelling.count() == seeds.ids.size());
    out.seeds = relabelling.count();
    begin_typed(*options.types, memory);
    std::optional<LinkTypes> links;
    if (seeds.links != nullptr && seeds.links->left_out) {
        links = seeds.links->types;
        seeds.left_out.find(*seeds.links, seeds.positions, out.seeds);
    }
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::size_t index = layers - 1 - layer;
        Block& block = out.blocks[index];
        block.destinations = relabelling.count();
        list_types(*options.types, {out.vertices.data(), block.destinations}, memory);
        block.destination_types.assign(memory.types.begin(), memory.types.end());
        if (links && layer == 0) list_left_out(seeds.left_out.view(), out.seeds, memory);
        draw_types(source, options, request_of(options, out, layer, block.destinations), index,
                   links, memory);
        merge_types<Id>(options, block.destinations, memory, block);
        const RawVector<Id>& ids = memory.template ids<Id>();
        block.neighbours.resize(ids.size());
        relabelling.enter(std::span<const Id>(ids), block.neighbours.data());
        block.sources = relabelling.count();
    }
    out.vertices.resize(relabelling.count());
}

}  // namespace rudder::sample
