// Packed lists of ids once more, bit by bit: what core/packed_ids is held against.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rudder::test {

inline void slow_number(std::vector<bool>& bits, std::uint64_t value) {
    do {
        const std::uint64_t low = value % 128;
        value /= 128;
        for (int i = 0; i < 7; ++i)
            bits.push_back((low >> i) % 2 != 0);
        bits.push_back(value != 0);
    } while (value != 0);
}

/// The bytes that ids of a range that begins at `begin` travel as.
inline std::vector<std::byte> slow_packed_ids(std::span<const std::uint64_t> ids,
                                              std::uint64_t begin) {
    std::vector<bool> bits;
    slow_number(bits, ids.size());
    if (!ids.empty()) slow_number(bits, ids[0] - begin);
    for (std::size_t at = 1; at < ids.size(); at += 128) {
        const std::size_t end = std::min(ids.size(), at + 128);
        bool ascending = true;
        for (std::size_t i = at; i < end; ++i)
            ascending = ascending && ids[i] > ids[i - 1];
        std::vector<std::uint64_t> codes;
        for (std::size_t i = at; i < end; ++i) {
            if (ascending) {
                codes.push_back(ids[i] - ids[i - 1] - 1);
            } else if (const auto step = static_cast<std::int64_t>(ids[i] - ids[i - 1]); step < 0) {
                codes.push_back(2 * static_cast<std::uint64_t>(-(step + 1)) + 1);
            } else {
                codes.push_back(2 * static_cast<std::uint64_t>(step));
            }
        }
        int width = 0;
        while (width < 64 && std::ranges::any_of(codes, [&](auto c) { return c >> width != 0; }))
            ++width;
        for (int i = 0; i < 7; ++i)
            bits.push_back((width >> i) % 2 != 0);
        bits.push_back(!ascending);
        for (const std::uint64_t code : codes) {
            for (int i = 0; i < width; ++i)
                bits.push_back((code >> i) % 2 != 0);
        }
        while (bits.size() % 8 != 0)
            bits.push_back(false);
    }
    std::vector<std::byte> bytes(bits.size() / 8);
    for (std::size_t i = 0; i < bits.size(); ++i) {
        if (bits[i]) bytes[i / 8] |= static_cast<std::byte>(1U << (i % 8));
    }
    return bytes;
}

}  // namespace rudder::test
