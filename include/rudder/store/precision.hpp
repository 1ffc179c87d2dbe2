// How feature rows travel, and where a host keeps its own.
#pragma once

#include <cstdint>
#include <string_view>

namespace rudder::store {

/// native: as stored. Else every row is converted, own rows included, so that placement never
/// shows: to floats, or to 8 or 4 bits per column between the least and the largest value of it,
/// rounded up or down by a draw that is keyed by vertex and column (what is stored in 8 bits stays
/// as it is in int8).
enum class Precision : std::uint8_t { native, float32, bfloat16, int8, int4 };
[[nodiscard]] std::string_view to_string(Precision precision) noexcept;
/// Whether it may change values.
[[nodiscard]] constexpr bool rounds(Precision precision) noexcept {
    return precision != Precision::native && precision != Precision::float32;
}

/// Whether rows travel, are kept and enter the network as their non-zeros: where that makes the
/// data set's largest row at most a quarter as long (choose), always, or never.
enum class SparseChoice : std::uint8_t { choose, on, off };

/// Where a host keeps the rows of its parts: in the files, mapped, or in its shared window. Sparse
/// rows that take at most half of the stored ones are always in the window.
enum class Shards : std::uint8_t { mapped, shared };

}  // namespace rudder::store
