// What the sampler draws for one mini-batch: the vertices it needs, and a block per layer; and the
// ways to draw it.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/core/raw_vector.hpp"
#include "rudder/core/types.hpp"

namespace rudder::sample {

/// How the neighbours of a vertex are chosen. plain: each vertex by draws of its own. shared: those
/// with the smallest numbers, which all vertices share, so that a batch needs fewer rows.
enum class Sampler : std::uint8_t { plain, shared };
/// The most steps between two numbers of a vertex.
inline constexpr std::uint64_t most_redraw = std::uint64_t{1} << 31;

/// In which order training vertices become seeds. random: each part's in shuffled order. clustered:
/// blocks of seeds of one cluster of the part, the blocks shuffled, so that a batch has fewer
/// distinct neighbours.
enum class SeedOrder : std::uint8_t { random, clustered };

/// What seeds see of edges that have times. off: all. Otherwise only those strictly before the
/// seed's own time, of which each vertex takes the newest, or draws.
enum class Temporal : std::uint8_t { off, newest, uniform };

/// One layer of a batch: which source rows each destination reads. Ids are positions in the batch's
/// `vertices`; destinations are its first, sources a longer first stretch of the same list.
struct Block {
    std::uint32_t destinations = 0;
    std::uint32_t sources = 0;         ///< at least as many as destinations
    RawVector<std::uint32_t> offsets;  ///< destinations + 1 numbers, the first 0
    RawVector<LocalId> neighbours;     ///< below `sources`, in the order they were drawn
    /// What each of `neighbours` counts in its destination's mean, which adds up to 1 unless there
    /// are none; empty: all the same.
    RawVector<float> shares;
    /// Rows of floats that the edges carry, of each of `neighbours`; empty: nobody reads them.
    RawVector<float> features{};
    /// In a graph of several types: of each of `neighbours` the type of its edge, and the type of
    /// each destination. Else empty.
    RawVector<std::uint8_t> types{};
    RawVector<std::uint8_t> destination_types{};

    [[nodiscard]] std::uint32_t edges() const noexcept {
        return static_cast<std::uint32_t>(neighbours.size());
    }
};

/// Which batch: batch `step` of all training, of one part.
struct BatchKey {
    std::uint32_t epoch = 0;
    std::uint64_t step = 0;  ///< global: counts on over the epochs
    PartId part = 0;
    friend bool operator==(const BatchKey&, const BatchKey&) = default;
};

/// A sampled mini-batch. Its memory is kept when it is filled again.
struct Batch {
    BatchKey key;
    /// Global ids, each once (where `subgraphs` are told apart, once in each): the seeds, then what
    /// layer after layer added, as it first appeared.
    RawVector<VertexId> vertices;
    /// The number of the seed whose subgraph each of `vertices` is in; empty: all seeds share one.
    RawVector<std::uint32_t> subgraphs;
    /// Neighbours of each of `vertices` in the whole graph; empty unless the sampler was asked.
    RawVector<std::uint32_t> degrees;
    std::uint32_t seeds = 0;
    /// Of batches of links: the seed that each of the ids that were asked for is, in their order;
    /// a vertex that was asked for several times is one seed. Empty of other batches.
    RawVector<LocalId> seed_positions;
    /// Input side first: blocks[0].sources == vertices.size(), blocks.back().destinations == seeds.
    std::vector<Block> blocks;

    [[nodiscard]] std::uint64_t edges() const noexcept {
        std::uint64_t sum = 0;
        for (const Block& block : blocks)
            sum += block.edges();
        return sum;
    }
    /// Whether no vertex is there twice.
    [[nodiscard]] bool distinct() const noexcept { return subgraphs.empty(); }
    /// Memory held, in bytes.
    [[nodiscard]] std::size_t bytes() const noexcept;
};

}  // namespace rudder::sample
