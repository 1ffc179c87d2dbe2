// Rows of floats to levels of 8 or 4 bits per column and back, rounded by keyed draws; compiled for
// several instruction sets with the same bits.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "rudder/core/types.hpp"

#include "column_steps.hpp"

namespace rudder::store {

/// Of one row: a byte per column; or the lower half of byte i is column i, the upper half column
/// i + h, where h is half of the width, rounded up, and the bytes of a row.
[[nodiscard]] constexpr std::uint64_t quantised_bytes(std::uint64_t width,
                                                      unsigned levels) noexcept {
    return levels < 16 ? width / 2 + width % 2 : width;
}

/// x becomes the level floor(min((x - zero) / step + u, levels)), where u is in (0, 1): odd
/// multiples of 2^-16 by the draw of vertex and column (core/column_draws.hpp, purpose round_rows,
/// whatever the run's seed). Up or down with the probabilities that keep the mean; what lies on a
/// level of 15 stays there, and so does, but for a few of 65,536 draws, what lies on one of 255.
struct QuantiseKernels {
    /// Rows of floats, one after the other, to wire rows, one after the other.
    void (*quantise)(const ColumnSteps& columns, std::span<const VertexId> vertices,
                     const float* rows, std::byte* wire);
    /// Wire rows to floats.
    void (*dequantise)(const ColumnSteps& columns, std::span<const VertexId> vertices,
                       const std::byte* const* wire, float* const* out);
    /// Both, in place.
    void (*round)(const ColumnSteps& columns, std::span<const VertexId> vertices,
                  float* const* rows);
};

/// For the widest vectors this machine has.
[[nodiscard]] const QuantiseKernels& quantise_kernels();
/// For one of `row_instruction_sets`; for tests and benchmarks.
[[nodiscard]] const QuantiseKernels& quantise_kernels(std::string_view instructions);

}  // namespace rudder::store
