// Lists of ids as they travel: differences of neighbours, in as few bits as each block needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rudder/core/raw_vector.hpp"
#include "rudder/core/types.hpp"

namespace rudder {

// The format: the number of ids and the first of them, 7 bits to a byte, low ones first, the top
// bit of a byte set where more follow. Then the others in blocks of 128 (the last may be shorter):
// a byte with the width of a difference in bits (0 to 64), and the differences, low bits first, up
// to a whole byte. An ascending block holds each difference less one, so that ids in a row take no
// bits; any other has the top bit of its width's byte set and holds signed differences (zigzag).
inline constexpr std::size_t packed_block = 128;

/// Appends `ids`, less `begin`, to `bytes`. Any order is fine; ascending ids are shortest.
void pack_ids(std::span<const VertexId> ids, VertexId begin, RawVector<std::byte>& bytes);

/// Reads the whole of `bytes` back, adding `begin`. False, with any content of `ids`, if that is
/// not such a list, or has an id that is not below `limit` before `begin` is added.
[[nodiscard]] bool unpack_ids(std::span<const std::byte> bytes, VertexId begin, VertexId limit,
                              RawVector<VertexId>& ids);

}  // namespace rudder
