// A random order of the numbers below n that takes no memory.
#pragma once

#include <bit>
#include <cstdint>

#include "rudder/core/random.hpp"

namespace rudder::partition {

/// A bijection of [0, count) chosen by a stream: a Feistel network over the next even power of two,
/// walked until it falls below `count` (fewer than four steps on average).
class Permutation {
public:
    Permutation(std::uint64_t count, const RandomStream& stream) noexcept
        : count_(count),
          half_bits_(count <= 2 ? 1 : static_cast<int>((std::bit_width(count - 1) + 1) / 2)),
          mask_((std::uint64_t{1} << half_bits_) - 1) {
        Draws draws(stream, 0);
        for (std::uint64_t& key : keys_)
            key = draws.next64();
    }

    /// The number at position `i` of the order; i < count.
    [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const noexcept {
        do {
            i = scramble(i);
        } while (i >= count_);
        return i;
    }

private:
    [[nodiscard]] std::uint64_t scramble(std::uint64_t i) const noexcept {
        std::uint64_t left = i >> half_bits_;
        std::uint64_t right = i & mask_;
        for (const std::uint64_t key : keys_) {
            std::uint64_t mixed = (right + key) * 0x9E3779B97F4A7C15U;
            mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9U;
            const std::uint64_t next = left ^ ((mixed >> 32) & mask_);
            left = right;
            right = next;
        }
        return (left << half_bits_) | right;
    }

    std::uint64_t count_;
    int half_bits_;
    std::uint64_t mask_;
    std::uint64_t keys_[4]{};
};

}  // namespace rudder::partition
