// Which rows a step needs: remote ones numbered by first appearance, local ones counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "buffer/live_buffer.hpp"
#include "rudder/buffer/row_numbering.hpp"
#include "rudder/core/raw_vector.hpp"

namespace rudder::buffer {

/// Vertices of a piece of a batch, at most: a size that threads share well.
inline constexpr std::size_t piece_vertices = std::size_t{1} << 11;
/// One of them.
struct StepPiece {
    std::span<const VertexId> vertices;
    std::size_t batch;
    std::size_t first;  ///< of these vertices in the batch
};
/// Appends the pieces of a batch.
void cut_batch(std::span<const VertexId> vertices, std::size_t batch,
               std::vector<StepPiece>& pieces);

/// Finds the distinct rows of a list.
class DistinctRows {
public:
    /// `once`: no list has an id twice, so that all are distinct.
    explicit DistinctRows(RowNumbering& numbering, bool once = false)
        : numbering_(numbering), once_(once) {}

    /// Begins a new list.
    void begin() { ++list_; }
    /// Appends the rows of `ids` that the list lacks to `rows`; where each id is in it goes to
    /// `positions`, which stays empty where ids come once: they are in their order.
    void add(std::span<const VertexId> ids, std::vector<RowKey>& rows,
             std::vector<std::uint32_t>& positions);

private:
    void find(std::span<const VertexId> ids, std::span<RowKey> keys);

    struct Seen {
        std::uint32_t list = 0;
        std::uint32_t position = 0;
    };
    RowNumbering& numbering_;
    bool once_;
    std::vector<Seen> seen_;  ///< by row
    RawVector<RowKey> keys_;
    std::uint32_t list_ = 0;
};

/// Tells the rows of this host, and counts distinct ones.
class LocalRows {
public:
    /// `batches` is how many batches a step has: one has no vertex twice, unless it `repeats` some.
    LocalRows(std::span<const LocalRange> ranges, std::uint64_t batches, bool repeats = false);

    [[nodiscard]] bool contains(VertexId v) const noexcept {
        for (const LocalRange& range : ranges_) {
            if (v - range.begin < range.end - range.begin) return true;
        }
        return false;
    }
    /// Calls `f(v, local)` for each; without a branch by v where the rows are one range.
    template <class F>
    void tell(std::span<const VertexId> vertices, F&& f) const {
        if (ranges_.size() == 1) {
            const VertexId begin = ranges_.front().begin;
            const VertexId size = ranges_.front().end - begin;
            for (const VertexId v : vertices)
                f(v, v - begin < size);
        } else {
            for (const VertexId v : vertices)
                f(v, contains(v));
        }
    }
    /// Begins a new step.
    void begin() noexcept;
    /// How many of these rows the step had not had so far.
    std::uint64_t add(std::span<const VertexId> ids);
    [[nodiscard]] bool counts_once() const noexcept { return once_; }

private:
    std::vector<LocalRange> ranges_;  ///< apart from each other
    std::vector<VertexId> base_;      ///< of each range among all
    bool once_;
    std::vector<std::uint64_t> words_;
    std::vector<std::uint64_t> touched_;
};

}  // namespace rudder::buffer
