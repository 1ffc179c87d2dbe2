#include "sampler.hpp"

#include <algorithm>
#include <limits>
#include <variant>

#include <fmt/format.h>

#include "core/span.hpp"
#include "rudder/core/id_array.hpp"

#include "id_map.hpp"
#include "left_out_edges.hpp"
#include "relabelling.hpp"
#include "typed_layers.hpp"

namespace rudder::sample {

namespace {

void check_fanout(const std::vector<std::int32_t>& fanout) {
    const auto wrong = std::ranges::find_if(fanout, [](auto f) { return f == 0 || f < -1; });
    if (fanout.empty() || wrong != fanout.end()) {
        throw usage_error(
            fanout.empty() ? "no fan-out given" : fmt::format("invalid fan-out: {}", *wrong),
            "--fanout", "give one number per layer: 1 or more, or -1 for all");
    }
}

/// Memory of batches whose seeds have subgraphs of their own. A pair is a subgraph's number times
/// the vertices of the graph, plus a vertex.
struct Subgraphs {
    HashMap<VertexId> map;
    RawVector<VertexId> pairs;      ///< of the batch, each once
    RawVector<std::int64_t> times;  ///< of the seeds of the pairs
    RawVector<VertexId> drawn;      ///< pairs of a layer
    std::vector<std::int64_t> of_seed;
};

}  // namespace

struct NeighbourSampler::Scratch {
    using AnyMap = std::variant<DirectMap, HashMap<std::uint32_t>, HashMap<VertexId>>;

    AnyMap map;
    DrawnNeighbours drawn;
    RawVector<LocalId> positions;  ///< of the seeds: 0, 1, 2, ...
    Subgraphs subgraphs;           ///< where seeds have their own
    LeftOutEdges left_out;         ///< of batches of links
    TypedMemory typed;             ///< of graphs of several types

    explicit Scratch(AnyMap m) : map(std::move(m)) {}
};

NeighbourSampler::NeighbourSampler(const NeighbourSource& source, SamplerOptions options)
    : source_(&source), options_(std::move(options)) {
    check_fanout(options_.fanout);
    RUDDER_CHECK(options_.redraw >= 1 && options_.redraw <= most_redraw);
    RUDDER_CHECK(options_.sampler == Sampler::plain || !options_.with_replacement);
    RUDDER_CHECK(options_.sampler == Sampler::plain || !options_.weighted);
    RUDDER_CHECK(options_.temporal == Temporal::off || options_.times != nullptr);
    RUDDER_CHECK(options_.types == nullptr || !options_.edge_features.present());
    const VertexId vertices = source.vertices();
    const auto map = [&]() -> Scratch::AnyMap {
        if (options_.temporal != Temporal::off) return HashMap<std::uint32_t>();  // another's turn
        if (IdArray::needs_wide(vertices)) return HashMap<VertexId>();
        if (vertices <= options_.direct_limit) return DirectMap(vertices);
        return HashMap<std::uint32_t>();
    };
    scratch_ = std::make_unique<Scratch>(map());
}

NeighbourSampler::~NeighbourSampler() = default;
NeighbourSampler::NeighbourSampler(NeighbourSampler&&) noexcept = default;

DrawRequest request_of(const SamplerOptions& options, const Batch& batch, std::size_t layer,
                       std::uint32_t destinations) {
    return {.key = {options.purpose, options.seed, batch.key.epoch, batch.key.step,
                    static_cast<std::uint32_t>(layer)},
            .vertices = {batch.vertices.data(), destinations},
            .fanout = options.fanout[options.fanout.size() - 1 - layer],
            .with_replacement = options.with_replacement,
            .sampler = options.sampler,
            .redraw = options.redraw,
            .kind = options.kind,
            .weighted = options.weighted,
            .features = options.edge_features.present(),
            .temporal = options.temporal};
}

namespace {

/// Rows of edges become floats.
void take_features(const SamplerOptions& options, const DrawnNeighbours& drawn, Block& block) {
    if (!options.edge_features.present()) return;
    graph::FeatureInfo all = options.edge_features;  // as one long row: neither scale nor norm
    all.width *= block.neighbours.size();
    block.features.resize(all.width);
    graph::decode_row(all, drawn.features, {}, block.features);
}

template <class Map>
void sample_layers(const NeighbourSource& source, const SamplerOptions& options, Map& map,
                   DrawnNeighbours& drawn, RawVector<LocalId>& positions,
                   std::span<const VertexId> seeds, const LinkIds* links, LeftOutEdges& left_out,
                   Batch& out) {
    const std::size_t layers = options.fanout.size();
    Relabelling<Map> relabelling(map, out.vertices);
    positions.resize(seeds.size());
    relabelling.template enter<VertexId>(seeds, positions.data());
    RUDDER_CHECK(links != nullptr || relabelling.count() == seeds.size());  // seeds are distinct
    out.seeds = relabelling.count();
    const bool leaves_out = links != nullptr && links->left_out;
    if (leaves_out) left_out.find(*links, positions, out.seeds);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::size_t index = layers - 1 - layer;
        Block& block = out.blocks[index];
        block.destinations = relabelling.count();
        block.offsets.swap(drawn.offsets);  // memory of the batch before
        block.shares.swap(drawn.shares);
        DrawRequest request = request_of(options, out, layer, block.destinations);
        if (leaves_out) request.left_out = left_out.view();
        source.draw(request, drawn);
        using Id = typename Map::Id;
        const std::span<const Id> ids = drawn.ids<Id>();
        // Not in place: what is drawn has room for as many as the fan-out allows, and batches wait.
        block.neighbours.resize(ids.size());
        relabelling.enter(ids, block.neighbours.data());
        take_features(options, drawn, block);
        block.offsets.swap(drawn.offsets);
        block.shares.swap(drawn.shares);
        block.sources = relabelling.count();
    }
    out.vertices.resize(relabelling.count());
}

/// Tells the pairs that are new apart.
void split_pairs(const Subgraphs& memory, VertexId vertices, std::size_t count, Batch& out) {
    std::size_t i = out.subgraphs.size();
    out.vertices.resize(count);
    out.subgraphs.resize(count);
    for (; i < count; ++i) {
        out.subgraphs[i] = static_cast<std::uint32_t>(memory.pairs[i] / vertices);
        out.vertices[i] = memory.pairs[i] % vertices;
    }
}

/// Pairs of what was drawn, by destination.
void pair_drawn(const Block& block, const Batch& batch, VertexId vertices, IdSpan ids,
                RawVector<VertexId>& pairs) {
    pairs.resize(ids.size());
    ids.visit([&](auto drawn) {
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            const VertexId first = batch.subgraphs[d] * vertices;
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e)
                pairs[e] = first + drawn[e];
        }
    });
}

/// The ids of a width that fits a graph of so many vertices.
IdSpan ids_of(VertexId vertices, const RawVector<std::uint32_t>& narrow,
              const RawVector<VertexId>& wide) {
    return IdArray::needs_wide(vertices) ? IdSpan(std::span<const VertexId>(wide))
                                         : IdSpan(std::span<const std::uint32_t>(narrow));
}

/// Memory of draws, of one of the two ways.
struct LayerMemory {
    DrawnNeighbours& drawn;
    TypedMemory& typed;
};

/// Draws a layer of destinations that have times, by type where there are several: fills all of the
/// block but its neighbours, whose ids are returned.
IdSpan draw_timed(const NeighbourSource& source, const SamplerOptions& options,
                  const LayerMemory& memory, std::span<const std::int64_t> times, std::size_t layer,
                  const Batch& batch, Block& block) {
    const VertexId vertices = source.vertices();
    DrawRequest request = request_of(options, batch, layer, block.destinations);
    request.times = times;
    if (options.types == nullptr) {
        DrawnNeighbours& drawn = memory.drawn;
        block.offsets.swap(drawn.offsets);
        block.shares.swap(drawn.shares);
        source.draw(request, drawn);
        block.offsets.swap(drawn.offsets);
        block.shares.swap(drawn.shares);
        return ids_of(vertices, drawn.narrow, drawn.wide);
    }
    TypedMemory& typed = memory.typed;
    list_types(*options.types, request.vertices, typed);
    list_times(times, typed);
    block.destination_types.assign(typed.types.begin(), typed.types.end());
    draw_types(source, options, request, options.fanout.size() - 1 - layer, {}, typed);
    if (IdArray::needs_wide(vertices)) {
        merge_types<VertexId>(options, block.destinations, typed, block);
    } else {
        merge_types<std::uint32_t>(options, block.destinations, typed, block);
    }
    return ids_of(vertices, typed.narrow, typed.wide);
}

/// Layers of seeds that have subgraphs of their own: what is entered are pairs.
void sample_subgraphs(const NeighbourSource& source, const SamplerOptions& options,
                      Subgraphs& memory, const LayerMemory& layer_memory,
                      RawVector<LocalId>& positions, std::span<const VertexId> seeds, Batch& out) {
    const VertexId vertices = source.vertices();
    RUDDER_CHECK(seeds.empty() || vertices <= std::numeric_limits<VertexId>::max() / seeds.size());
    Relabelling<HashMap<VertexId>> relabelling(memory.map, memory.pairs);
    memory.of_seed.clear();
    memory.drawn.clear();
    for (const VertexId seed : seeds) {
        memory.drawn.push_back(memory.of_seed.size() * vertices + seed);
        memory.of_seed.push_back(options.times->of(seed));
    }
    positions.resize(seeds.size());
    relabelling.enter(std::span<const VertexId>(memory.drawn), positions.data());
    out.subgraphs.clear();
    if (options.types != nullptr) begin_typed(*options.types, layer_memory.typed);
    const std::size_t layers = options.fanout.size();
    for (std::size_t layer = 0; layer < layers; ++layer) {
        Block& block = out.blocks[layers - 1 - layer];
        block.destinations = relabelling.count();
        split_pairs(memory, vertices, block.destinations, out);
        memory.times.resize(block.destinations);
        for (std::uint32_t d = 0; d < block.destinations; ++d)
            memory.times[d] = memory.of_seed[out.subgraphs[d]];
        const IdSpan ids =
            draw_timed(source, options, layer_memory, memory.times, layer, out, block);
        pair_drawn(block, out, vertices, ids, memory.drawn);
        block.neighbours.resize(memory.drawn.size());
        relabelling.enter(std::span<const VertexId>(memory.drawn), block.neighbours.data());
        take_features(options, layer_memory.drawn, block);
        block.sources = relabelling.count();
    }
    split_pairs(memory, vertices, relabelling.count(), out);
}

}  // namespace

void NeighbourSampler::begin(const BatchKey& key, std::span<const VertexId> seeds,
                             Batch& out) const {
    const VertexId vertices = source_->vertices();
    RUDDER_CHECK(std::ranges::all_of(seeds, [=](VertexId v) { return v < vertices; }));
    out.key = key;
    out.seeds = narrow<std::uint32_t>(seeds.size(), "number of seeds of a batch");
    out.blocks.resize(options_.fanout.size());
}

void NeighbourSampler::add_degrees(Batch& out) const {
    out.degrees.resize(options_.degrees ? out.vertices.size() : 0);
    if (options_.degrees) source_->degrees(out.vertices, out.degrees);
}

void NeighbourSampler::sample(const BatchKey& key, std::span<const VertexId> seeds, Batch& out) {
    begin(key, seeds, out);
    out.seed_positions.clear();
    if (options_.temporal != Temporal::off) {
        sample_subgraphs(*source_, options_, scratch_->subgraphs,
                         {scratch_->drawn, scratch_->typed}, scratch_->positions, seeds, out);
    } else {
        out.subgraphs.clear();
        sample_all(seeds, nullptr, out);
    }
    add_degrees(out);
}

void NeighbourSampler::sample_links(const BatchKey& key, const LinkIds& links, Batch& out) {
    RUDDER_CHECK(options_.temporal == Temporal::off);
    RUDDER_CHECK(links.each >= 2 && links.ids.size() % links.each == 0);
    begin(key, links.ids, out);
    out.subgraphs.clear();
    sample_all(links.ids, &links, out);
    out.seed_positions.assign(scratch_->positions.begin(), scratch_->positions.end());
    add_degrees(out);
}

void NeighbourSampler::sample_all(std::span<const VertexId> seeds, const LinkIds* links,
                                  Batch& out) {
    std::visit(
        [&](auto& map) {
            if (options_.types != nullptr) {
                RUDDER_CHECK(links == nullptr || !links->left_out || links->types.has_value());
                sample_typed_layers(*source_, options_, map, scratch_->typed,
                                    {seeds, links, scratch_->positions, scratch_->left_out}, out);
                return;
            }
            sample_layers(*source_, options_, map, scratch_->drawn, scratch_->positions, seeds,
                          links, scratch_->left_out, out);
        },
        scratch_->map);
}

std::span<const VertexId> distinct_vertices(const Batch& batch, RawVector<VertexId>& memory) {
    if (batch.distinct()) return batch.vertices;
    memory = batch.vertices;
    std::ranges::sort(memory);
    memory.erase(std::unique(memory.begin(), memory.end()), memory.end());
    return memory;
}

std::size_t Batch::bytes() const noexcept {
    std::size_t sum = vertices.capacity() * sizeof(VertexId) +
                      (subgraphs.capacity() + degrees.capacity()) * sizeof(std::uint32_t) +
                      seed_positions.capacity() * sizeof(LocalId);
    for (const Block& block : blocks) {
        sum += block.offsets.capacity() * sizeof(std::uint32_t) +
               block.neighbours.capacity() * sizeof(LocalId) +
               (block.shares.capacity() + block.features.capacity()) * sizeof(float) +
               block.types.capacity() + block.destination_types.capacity();
    }
    return sum;
}

}  // namespace rudder::sample
