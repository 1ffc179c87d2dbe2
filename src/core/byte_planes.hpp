// Bytes made shorter without loss: those of one place in every element together, each such plane by
// itself, since exponents and high bytes of numbers repeat where their other bytes do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rudder/core/raw_vector.hpp"

namespace rudder {

// The format: the width of an element (a byte, 1 to 8), the number of plain bytes (4, low first),
// then each plane: a byte that says whether it is stored (0) or compressed (1), the length of the
// latter (4 bytes), and its bytes. Plane p has the bytes p, p + width, p + 2 width, ...
inline constexpr std::size_t most_planes = 8;
inline constexpr std::uint32_t all_planes = (1U << most_planes) - 1;

/// Appends `plain`, elements of `width` bytes (a rest may be shorter), to `coded`. Only the planes
/// of the set `tried` are compressed, and only those that shrink by a sixteenth at least; which
/// those were is returned. Fewer than 2^32 bytes. Never called where this build has no Zstandard.
std::uint32_t encode_planes(std::span<const std::byte> plain, std::size_t width,
                            std::uint32_t tried, RawVector<std::byte>& coded);

/// How many plain bytes it has; none if it has no head.
[[nodiscard]] std::optional<std::size_t> planes_size(std::span<const std::byte> coded) noexcept;
/// The reverse; false, with any content of `plain`, if these are not as many bytes coded so.
[[nodiscard]] bool decode_planes(std::span<const std::byte> coded, std::span<std::byte> plain);

}  // namespace rudder
