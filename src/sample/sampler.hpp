// The neighbour sampler: draws layer by layer, removes duplicates, builds the blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rudder/sample/batch.hpp"

#include "message_rows.hpp"
#include "neighbour_source.hpp"
#include "seed_times.hpp"

namespace rudder::sample {

class LinkSeeds;

/// The two types of vertices that a type of edges joins.
struct TypeEnds {
    std::size_t from = 0;
    std::size_t to = 0;
};

/// What sampling needs to know of the types of a graph.
struct TypedSampling {
    partition::PartitionBook book;
    partition::TypeBook vertices;
    std::vector<TypeEnds> edges;  ///< by type
    /// By layer, input side first, and type of edges: how many neighbours; 0: none, -1: all.
    std::vector<std::vector<std::int32_t>> fanout;
};

struct SamplerOptions {
    std::vector<std::int32_t> fanout{10, 25};  ///< one per layer, input side first; -1: all
    bool with_replacement = false;
    Sampler sampler = Sampler::plain;
    std::uint64_t redraw = 1;  ///< steps between the numbers of a vertex, where they are shared
    std::uint64_t seed = 0;
    Purpose purpose = Purpose::sample;
    comm::Kind kind = comm::Kind::topology;
    bool degrees = false;   ///< also give the degrees of the batch's vertices in the whole graph
    bool weighted = false;  ///< draw by the edges' weights; blocks have shares
    /// Blocks have these rows of edges, which the source must hold; no columns: none. Not of graphs
    /// of several types.
    graph::FeatureInfo edge_features{};
    /// Unless it is off, each seed has a subgraph of its own, of edges before its time.
    Temporal temporal = Temporal::off;
    const SeedTimes* times = nullptr;  ///< of all seeds, unless that is off; must outlive it
    const LinkSeeds* links = nullptr;  ///< where links are the seeds; must outlive it
    /// Of a graph of several types; must outlive it. `fanout` then only tells the number of layers.
    const TypedSampling* types = nullptr;
    /// Graphs of up to so many vertices get a table of 4 bytes per vertex and sampler to find
    /// duplicates with, larger ones a hash table of the batch's size. No result depends on it.
    VertexId direct_limit = VertexId{1} << 28;
};

/// The vertices of a batch of links: of each link `each` ids, its source, its target, and others
/// that are asked for beside it (lay_out_pairs). Any may come several times.
struct LinkIds {
    std::span<const VertexId> ids;
    std::uint32_t each = 2;
    bool symmetric = true;  ///< a link is an edge of both of its vertices, not of its target alone
    bool left_out = true;   ///< no layer draws the edge of a link: it is what is asked about
    /// Which edges links are, in a graph of several types.
    std::optional<LinkTypes> types{};
};

/// Draws batches. Its scratch memory is its own, so each task that samples has one; the source is
/// shared. The batch depends on key, seeds and options alone.
class NeighbourSampler {
public:
    /// The source must outlive it. A fan-out of 0, or below -1, or none at all is a usage Error.
    NeighbourSampler(const NeighbourSource& source, SamplerOptions options);
    ~NeighbourSampler();
    NeighbourSampler(NeighbourSampler&&) noexcept;

    /// Fills `out`. Seeds are distinct global ids; there may be none.
    void sample(const BatchKey& key, std::span<const VertexId> seeds, Batch& out);
    /// The same for links: seeds are their vertices, each once, and `seed_positions` say which.
    /// Without times.
    void sample_links(const BatchKey& key, const LinkIds& links, Batch& out);

private:
    struct Scratch;
    void begin(const BatchKey& key, std::span<const VertexId> seeds, Batch& out) const;
    void add_degrees(Batch& out) const;
    /// Layers of seeds that share a subgraph; `links` is null where seeds are vertices.
    void sample_all(std::span<const VertexId> seeds, const LinkIds* links, Batch& out);

    const NeighbourSource* source_;
    SamplerOptions options_;
    std::unique_ptr<Scratch> scratch_;
};

/// The draws of a layer, counted from the seeds' on.
[[nodiscard]] DrawRequest request_of(const SamplerOptions& options, const Batch& batch,
                                     std::size_t layer, std::uint32_t destinations);

/// The ids of a batch, each once: the batch's own list, or one in `memory`, ascending.
[[nodiscard]] std::span<const VertexId> distinct_vertices(const Batch& batch,
                                                          RawVector<VertexId>& memory);

}  // namespace rudder::sample
