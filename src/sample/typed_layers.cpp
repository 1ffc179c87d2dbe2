#include "typed_layers.hpp"

#include "rudder/core/check.hpp"

namespace rudder::sample {

namespace {

/// Layers are few: the type of edges has the upper half of the stream's layer.
constexpr std::uint32_t layer_bits = 16;

}  // namespace

void begin_typed(const TypedSampling& types, TypedMemory& memory) {
    memory.drawn.resize(types.edges.size());
    memory.of_type.resize(types.vertices.types());
    memory.types.clear();
    memory.into.assign(types.vertices.types(), {});
    for (std::size_t t = 0; t < types.edges.size(); ++t)
        memory.into[types.edges[t].to].push_back(t);
}

void list_types(const TypedSampling& types, std::span<const VertexId> destinations,
                TypedMemory& memory) {
    for (std::size_t i = memory.types.size(); i < destinations.size(); ++i) {
        const VertexId v = destinations[i];
        memory.types.push_back(
            static_cast<std::uint8_t>(types.vertices.type(types.book.owner(v), v)));
    }
    for (RawVector<VertexId>& list : memory.of_type)
        list.clear();
    for (std::size_t i = 0; i < destinations.size(); ++i)
        memory.of_type[memory.types[i]].push_back(destinations[i]);
}

void list_times(std::span<const std::int64_t> times, TypedMemory& memory) {
    memory.times.resize(memory.of_type.size());
    for (RawVector<std::int64_t>& list : memory.times)
        list.clear();
    for (std::size_t i = 0; i < times.size(); ++i)
        memory.times[memory.types[i]].push_back(times[i]);
}

void list_left_out(const LeftOut& all, std::uint32_t seeds, TypedMemory& memory) {
    memory.left_out.resize(memory.of_type.size());
    for (LeftOutOfType& list : memory.left_out) {
        list.offsets.assign(1, 0);
        list.neighbours.clear();
    }
    for (std::size_t i = 0; i < seeds; ++i) {
        LeftOutOfType& list = memory.left_out[memory.types[i]];
        const std::span<const VertexId> of = all.of(i);
        list.neighbours.insert(list.neighbours.end(), of.begin(), of.end());
        list.offsets.push_back(static_cast<std::uint32_t>(list.neighbours.size()));
    }
}

void draw_types(const NeighbourSource& source, const SamplerOptions& options,
                const DrawRequest& request, std::size_t layer,
                const std::optional<LinkTypes>& links, TypedMemory& memory) {
    const TypedSampling& types = *options.types;
    RUDDER_CHECK(request.key.layer < (std::uint32_t{1} << layer_bits));
    for (std::size_t t = 0; t < types.edges.size(); ++t) {
        const RawVector<VertexId>& vertices = memory.of_type[types.edges[t].to];
        DrawnNeighbours& drawn = memory.drawn[t];
        DrawRequest of = request;
        of.vertices = vertices;
        of.fanout = types.fanout[layer][t];
        of.type = static_cast<std::uint8_t>(t);
        if (request.temporal != Temporal::off) of.times = memory.times[types.edges[t].to];
        if (links && (of.type == links->type || of.type == links->reverse))
            of.left_out = memory.left_out[types.edges[t].to].view();
        of.key.layer |= static_cast<std::uint32_t>(t + 1) << layer_bits;
        if (of.fanout == 0 || vertices.empty()) {
            drawn.offsets.assign(vertices.size() + 1, 0);
            drawn.narrow.clear();
            drawn.wide.clear();
            drawn.shares.clear();
            continue;
        }
        source.draw(of, drawn);
    }
}

}  // namespace rudder::sample
