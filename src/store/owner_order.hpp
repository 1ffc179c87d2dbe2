// Rows to be fetched, brought into the order in which their owners are asked; on all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/radix_sort.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/types.hpp"

namespace rudder::store {

/// A list that is filled in chunks, ordered by owner (by chunk within one, and by vertex within a
/// chunk, so that questions are short), and walked in chunks. `Purpose` is what a row is for.
/// Memory is used again.
template <class Purpose>
class OwnerOrder {
public:
    struct Row {
        VertexId vertex;
        Purpose purpose;
        int owner;
    };
    /// The rows of one chunk.
    class Part {
    public:
        void add(const Row& row) {
            rows_.push_back(row);
            ++next_[static_cast<std::size_t>(row.owner)];
        }
        [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }

    private:
        friend class OwnerOrder;
        std::vector<Row> rows_;
        std::vector<Row> scratch_;
        std::vector<std::uint32_t> next_;  ///< by owner: rows; then the place of the next one
    };

    /// Makes it an empty list of so many chunks, of rows of so many owners.
    void begin(std::size_t chunks, std::size_t owners) {
        chunks_ = chunks;
        if (parts_.size() < chunks) parts_.resize(chunks);
        for (std::size_t c = 0; c < chunks; ++c) {
            parts_[c].rows_.clear();
            parts_[c].next_.assign(owners, 0);
        }
    }
    [[nodiscard]] Part& part(std::size_t chunk) noexcept { return parts_[chunk]; }

    /// Gives every row its place; adds the rows of each owner to `by_owner`. How many rows there
    /// are.
    std::size_t order(std::span<std::uint64_t> by_owner) {
        parallel_chunks(chunks_, 1, [&](const Chunk& chunk) {
            Part& part = parts_[chunk.index];
            radix_sort(part.rows_, part.scratch_, [](const Row& row) { return row.vertex; });
        });
        std::uint32_t place = 0;
        for (std::size_t r = 0; r < by_owner.size(); ++r) {
            const std::uint32_t before = place;
            for (std::size_t c = 0; c < chunks_; ++c) {
                const std::uint32_t count = parts_[c].next_[r];
                parts_[c].next_[r] = place;
                place = checked_add(place, count, "number of rows to fetch");
            }
            by_owner[r] += place - before;
        }
        return place;
    }
    /// Calls `visit(place, row)` once for every row, in chunks that threads share; after `order`.
    template <class Visit>
    void walk(Visit&& visit) {
        parallel_chunks(chunks_, 1, [&](const Chunk& chunk) {
            Part& part = parts_[chunk.index];
            for (const Row& row : part.rows_)
                visit(part.next_[static_cast<std::size_t>(row.owner)]++, row);
        });
    }

private:
    std::size_t chunks_ = 0;
    std::vector<Part> parts_;  ///< at least `chunks_`
};

}  // namespace rudder::store
