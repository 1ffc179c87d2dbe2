// Which vector instructions the kernels use. Every path gives the same bits.
#pragma once

#include <cstdint>
#include <string_view>

namespace rudder::nn {

enum class VectorPath : std::uint8_t { portable, avx2, avx512 };

/// The widest this processor has, or what a test has set.
[[nodiscard]] VectorPath vector_path() noexcept;
/// The widest this processor has.
[[nodiscard]] VectorPath best_vector_path() noexcept;
/// For tests and benchmarks; a path the processor lacks is lowered to what it has.
void set_vector_path(VectorPath path) noexcept;
[[nodiscard]] std::string_view to_string(VectorPath path) noexcept;

}  // namespace rudder::nn
