// The numbers that samples share: one per source vertex, layer and turn.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rudder/core/random.hpp"
#include "rudder/core/types.hpp"

#include "draw_positions.hpp"

namespace rudder::sample {

// The rule (LABOR-0 with a fixed count). Let h = low word of t * 0x9E3779B1 (mod 2^32). In global
// step s vertex t has, as a source of one layer, the number mix(h, k1, k2) below, where k1 and k2
// are the first words of block `turn` of vertex `high word of t` of the stream of purpose, seed and
// layer; turn = floor((s + phase) / redraw), phase = floor(h * redraw / 2^32). A vertex of degree
// above the fan-out k keeps the k of its neighbours with the smallest numbers, ties by place, in
// the order of its row. Any k of them are equally likely; but vertices with a common neighbour keep
// it together, and from one step to the next only one vertex in `redraw` has another number.

/// The keys of a turn, of the keyed stream: 64 bits.
struct SharedKeys {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
};

/// A keyed permutation of 32 bits: three multiplications (with that of h) and not the twenty of a
/// whole Philox block, since a number is wanted of every neighbour that is looked at.
struct SharedMix {
    static constexpr std::uint32_t spread = 0x9E3779B1U;  ///< of ids, before
    static constexpr std::uint32_t one = 0x21F0AAADU;
    static constexpr std::uint32_t two = 0x735A2D97U;

    [[nodiscard]] static constexpr std::uint32_t word(std::uint32_t h, SharedKeys keys) noexcept {
        std::uint32_t x = h ^ keys.first;
        x = (x ^ x >> 16) * one + keys.second;
        x = (x ^ x >> 15) * two;
        return x ^ x >> 15;
    }
};

/// The numbers of one layer of one step.
class SharedNumbers {
public:
    /// `key` has purpose, seed, step and layer; `redraw` is 1 to 2^31.
    SharedNumbers(const StreamKey& key, std::uint64_t redraw) noexcept;

    [[nodiscard]] std::uint32_t redraw() const noexcept { return redraw_; }
    /// Below `redraw`.
    [[nodiscard]] std::uint32_t phase(VertexId t) const noexcept {
        const std::uint32_t spread = static_cast<std::uint32_t>(t) * SharedMix::spread;
        return static_cast<std::uint32_t>((std::uint64_t{spread} * redraw_) >> 32);
    }
    [[nodiscard]] std::uint32_t number(VertexId t) const noexcept;

    // Of many vertices whose ids have 32 bits. All codes give the same.
    /// Writes ids and numbers of those whose number is at most `limit`, in order, and returns how
    /// many; either has room for as many as that and 16 more.
    [[nodiscard]] std::size_t collect(DrawCode code, const std::uint32_t* ids, std::size_t count,
                                      std::uint32_t limit, std::uint32_t* out_ids,
                                      std::uint32_t* out_numbers) const noexcept;

    /// Drops those of `count` pairs whose phase is one of `length` from `first` on, round about
    /// (fewer than all), in place; returns how many are left.
    [[nodiscard]] std::size_t drop(DrawCode code, std::uint32_t first, std::uint32_t length,
                                   std::uint32_t* ids, std::uint32_t* numbers,
                                   std::size_t count) const noexcept;

    /// Keeps those of at most `most_few` ids with the `wanted` smallest numbers (wanted < count),
    /// in order. False, and nothing written, where a tie leaves open which.
    [[nodiscard]] bool keep_few(DrawCode code, const std::uint32_t* ids, std::size_t count,
                                std::size_t wanted, std::uint32_t* out) const noexcept;
    static constexpr std::size_t most_few = 64;

    /// What the kernels read.
    struct Turn {
        SharedKeys now;
        SharedKeys next;
        std::uint32_t last_now;  ///< the largest h whose phase has not come to the next turn
    };

private:
    [[nodiscard]] SharedKeys keys(VertexId high, std::uint64_t turn) const noexcept {
        const Philox::Counter words = stream_.block(high, turn);
        return {words[0], words[1]};
    }

    /// The least h of a phase.
    [[nodiscard]] std::uint32_t least(std::uint64_t phase) const noexcept {
        return static_cast<std::uint32_t>(((phase << 32) + redraw_ - 1) / redraw_);
    }

    RandomStream stream_;
    std::uint64_t number_of_turn_;
    std::uint32_t redraw_;
    Turn turn_;
};

/// Keeps those of `count` pairs with the `wanted` smallest numbers (wanted < count), in order;
/// writes their ids. False, and nothing written, where a tie leaves open which.
[[nodiscard]] bool keep_smallest(DrawCode code, const std::uint32_t* ids,
                                 const std::uint32_t* numbers, std::size_t count,
                                 std::size_t wanted, std::uint32_t* out) noexcept;

}  // namespace rudder::sample
