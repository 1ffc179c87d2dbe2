// The inner loops of row formats, each compiled for several instruction sets with the same bits.
#pragma once

#include <cstddef>
#include <string_view>

#include "instruction_sets.hpp"
#include "row_format.hpp"

namespace rudder::store {

/// The loader of a recipe, for the widest vectors this machine has.
[[nodiscard]] RowLoader row_loader(const RowRecipe& recipe);

/// The same for one named instruction set ("baseline", "avx2", "avx512"); for tests and benchmarks.
/// Those this machine can run are `row_instruction_sets`.
[[nodiscard]] RowLoader row_loader(const RowRecipe& recipe, std::string_view instructions);

/// Rounds floats to bfloat16.
void round_row(const float* values, std::byte* out, std::size_t count);

/// Copies rows of `row_bytes` one after the other into `out`.
void pack_rows(std::span<const std::byte* const> rows, std::size_t row_bytes, std::byte* out);

}  // namespace rudder::store
