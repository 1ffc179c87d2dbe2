#include "rudder/core/checksum.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <xxhash.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder {

std::uint64_t hash_bytes(std::span<const std::byte> bytes) noexcept {
    return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t array_checksum(std::span<const std::byte> bytes) {
    std::vector<std::uint64_t> blocks(chunk_count(bytes.size(), checksum_block));
    parallel_chunks(bytes.size(), checksum_block, [&](const Chunk& chunk) {
        blocks[chunk.index] = hash_bytes(bytes.subspan(chunk.begin, chunk.end - chunk.begin));
    });
    return hash_bytes(std::as_bytes(std::span(blocks)));
}

void ChecksumStream::update(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        if (pending_.empty() && bytes.size() >= checksum_block) {
            blocks_.push_back(hash_bytes(bytes.first(checksum_block)));
            bytes = bytes.subspan(checksum_block);
            continue;
        }
        const std::size_t take = std::min(bytes.size(), checksum_block - pending_.size());
        pending_.insert(pending_.end(), bytes.begin(),
                        bytes.begin() + static_cast<std::ptrdiff_t>(take));
        bytes = bytes.subspan(take);
        if (pending_.size() == checksum_block) {
            blocks_.push_back(hash_bytes(pending_));
            pending_.clear();
        }
    }
}

std::uint64_t ChecksumStream::finish() {
    if (!pending_.empty()) blocks_.push_back(hash_bytes(pending_));
    pending_.clear();
    const std::uint64_t sum = hash_bytes(std::as_bytes(std::span(blocks_)));
    blocks_.clear();
    return sum;
}

std::string to_hex(std::uint64_t value) {
    return fmt::format("{:016x}", value);
}

std::uint64_t from_hex(std::string_view text, std::string_view where) {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != 16 || code != std::errc{} || end != text.data() + text.size()) {
        throw input_error(
            fmt::format("invalid checksum: '{}' (expected 16 hexadecimal digits)", text),
            std::string(where), "make the data set again");
    }
    return value;
}

}  // namespace rudder
