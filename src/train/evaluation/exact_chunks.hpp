// A part cut into chunks of full neighbourhoods: blocks that a layer can be computed from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/raw_vector.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/sample/batch.hpp"
#include "sample/message_rows.hpp"

namespace rudder::train {

/// Vertices that are always computed together, counted from the start of a part: losses are summed
/// within such a group first, so chunks are whole groups.
inline constexpr std::uint32_t group_rows = 256;

/// How large a chunk is at most: of some groups, counting a source once per group that reads it,
/// but no more of them than the part has.
struct ChunkSize {
    std::uint64_t destinations = 0;
    std::uint64_t sources = 0;
    std::uint64_t edges = 0;

    ChunkSize& operator+=(const ChunkSize& other) noexcept {
        destinations += other.destinations;
        sources += other.sources;
        edges += other.edges;
        return *this;
    }
};

/// What a chunk takes in a layer, in bytes: so much for each of these.
struct ChunkCost {
    std::uint64_t destination = 0;
    std::uint64_t source = 0;
    std::uint64_t edge = 0;

    [[nodiscard]] std::uint64_t of(const ChunkSize& size) const noexcept {
        return destination * size.destinations + source * size.sources + edge * size.edges;
    }
};

/// A chunk: own vertices [first, first + block.destinations), and whose rows it reads.
struct ExactChunk {
    LocalId first = 0;
    sample::Block block;
    /// Local ids: the destinations, other rows of this rank, then those of other ranks, ascending.
    RawVector<LocalId> sources;
    std::uint32_t here = 0;          ///< how many of them this rank has
    const void* whole_of = nullptr;  ///< the part that it is all of; none: it is not
};

/// Whether neighbours count alike, or by the weights that the edges of a part carry.
enum class Means : bool { plain, weighted };

/// Whether blocks have the features of the edges of a part.
enum class EdgeRows : bool { none, features };

/// One own part, with what is needed to cut it. The part must outlive it.
class ChunkedPart {
public:
    /// `here` is the range of vertices that this rank owns, over all of its parts.
    /// `rows` are what its vertices read, of neighbours in its order: the part's own, or (plain
    /// means without features of edges alone) others, which must outlive it.
    ChunkedPart(const partition::Part& part, const sample::RowsView& rows,
                partition::PartitionBook::Range here, Means means = Means::plain,
                EdgeRows edge_rows = EdgeRows::none);

    [[nodiscard]] const partition::Part& part() const noexcept { return *part_; }
    [[nodiscard]] const sample::RowsView& rows() const noexcept { return rows_; }
    /// The groups of the part, each as a chunk of its own.
    [[nodiscard]] std::span<const ChunkSize> groups() const noexcept { return groups_; }
    /// Groups [begin, end) for each chunk, as many as cost no more than `budget`, at least one.
    struct Stretch {
        std::size_t begin;
        std::size_t end;
        ChunkSize size;
    };
    [[nodiscard]] std::vector<Stretch> cut(const ChunkCost& cost, std::uint64_t budget) const;

    /// Whether the stretch is the whole part.
    [[nodiscard]] bool whole(const Stretch& stretch) const noexcept {
        return stretch.begin == 0 && stretch.end == groups_.size();
    }
    /// Fills `out` with the chunk of these groups, unless it is that already. `positions` is
    /// scratch of `local_ids()` numbers, all `nowhere`, and left so; a whole part needs none.
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
    [[nodiscard]] std::size_t local_ids() const noexcept {
        return part_->own() + part_->halo().size();
    }
    void fill(const Stretch& stretch, std::span<std::uint32_t> positions, ExactChunk& out) const;

    /// Whether other ranks have the row of this local id; how many such there are, and which of
    /// them, in ascending order, this is.
    [[nodiscard]] bool remote(LocalId id) const noexcept {
        return id >= part_->own() && (id < here_begin_ || id >= here_end_);
    }
    [[nodiscard]] std::size_t remote_count() const noexcept {
        return local_ids() - part_->own() - (here_end_ - here_begin_);
    }
    [[nodiscard]] std::size_t remote_index(LocalId id) const noexcept {
        const auto own = static_cast<std::size_t>(part_->own());
        return id < here_begin_ ? id - own : id - own - (here_end_ - here_begin_);
    }
    /// Global ids of the remote ones, ascending.
    [[nodiscard]] std::vector<VertexId> remote_ids() const;

private:
    void count_groups();
    void fill_whole(ExactChunk& out) const;
    void fill_some(const Stretch& stretch, std::span<std::uint32_t> positions,
                   ExactChunk& out) const;
    /// Shares of the rows from own vertex `first` on, where means are weighted.
    void fill_shares(std::size_t first, sample::Block& block) const;
    /// Features of edges likewise, where they are wanted.
    void fill_features(std::size_t first, sample::Block& block) const;
    /// Types of edges and destinations likewise, where the graph has several.
    void fill_types(std::size_t first, sample::Block& block) const;

    const partition::Part* part_;
    sample::RowsView rows_;
    Means means_;
    EdgeRows edge_rows_;
    std::size_t here_begin_ = 0;  ///< local ids of halo vertices that are in other own parts
    std::size_t here_end_ = 0;
    std::vector<ChunkSize> groups_;
};

}  // namespace rudder::train
