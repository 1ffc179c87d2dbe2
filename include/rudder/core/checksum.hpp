// The checksum of arrays on disk: XXH3 over blocks, so that it can be computed in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rudder {

/// XXH3-64 of some bytes.
[[nodiscard]] std::uint64_t hash_bytes(std::span<const std::byte> bytes) noexcept;

/// Blocks the checksum is made of; a fixed part of the format.
inline constexpr std::size_t checksum_block = std::size_t{4} << 20;

/// The checksum of an array: XXH3-64 of the little-endian XXH3-64s of its 4 MiB blocks.
[[nodiscard]] std::uint64_t array_checksum(std::span<const std::byte> bytes);

/// The same, fed piece by piece.
class ChecksumStream {
public:
    void update(std::span<const std::byte> bytes);
    [[nodiscard]] std::uint64_t finish();

private:
    std::vector<std::byte> pending_;
    std::vector<std::uint64_t> blocks_;
};

/// 16 hexadecimal digits, and back (an input Error naming `where` otherwise).
[[nodiscard]] std::string to_hex(std::uint64_t value);
[[nodiscard]] std::uint64_t from_hex(std::string_view text, std::string_view where);

}  // namespace rudder
