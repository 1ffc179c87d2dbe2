// How much memory the bookkeeping of a buffer will take, beside the rows it holds.
#pragma once

#include <cstdint>

#include "rudder/buffer/policy_spec.hpp"
#include "rudder/core/types.hpp"

namespace rudder::buffer {

/// A buffer that is to be.
struct BookkeepingShape {
    VertexId vertices = 0;          ///< of the graph
    std::uint64_t rows = 0;         ///< remote ones that may ever be asked for
    std::uint64_t slots = 0;        ///< for rows
    double rows_per_step = 0;       ///< distinct remote ones
    double vertices_per_step = 0;   ///< of all batches, remote and local
    std::uint64_t steps_ahead = 0;  ///< that are published beside the one in hand
    bool several_batches = false;   ///< in a step, so that rows may come twice
    bool floor = false;             ///< whether the fewest rows possible are counted
};

struct BookkeepingBytes {
    std::uint64_t numbering = 0;  ///< from vertices to rows and back
    std::uint64_t policy = 0;     ///< its state by row, and which row is in which slot
    std::uint64_t slots = 0;      ///< who writes to them
    std::uint64_t floor = 0;
    std::uint64_t steps = 0;  ///< that are known and not taken: lists of rows and positions

    /// What grows with the rows and slots of the graph, and not with the steps ahead.
    [[nodiscard]] std::uint64_t of_rows() const noexcept {
        return numbering + policy + slots + floor;
    }
    [[nodiscard]] std::uint64_t sum() const noexcept { return of_rows() + steps; }
};

/// What it will take. Numbering and policy are measured on a buffer that is smaller by a power of
/// two, with the same policy: all of it grows in proportion.
[[nodiscard]] BookkeepingBytes bookkeeping_bytes(const PolicySpec& policy,
                                                 const BookkeepingShape& shape);

}  // namespace rudder::buffer
