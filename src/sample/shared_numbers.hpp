// The numbers that samples share: one per source vertex, layer and turn.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rudder/core/random.hpp"
#include "rudder/core/types.hpp"

#include "draw_positions.hpp"

namespace rudder::sample {

// The rule (LABOR-0 with a fixed count). In global step s vertex t has, as a source of one layer,
// the number
//     first word of Philox 2x32-7 of (low word of t, turn),  turn = floor((s + phase) / redraw),
// phase = floor(h * redraw / 2^32) with h = low word of t * 0x9E3779B1; the key is that of purpose,
// seed and layer, and of the high word of t. A vertex of degree above the fan-out k keeps the k of
// its neighbours with the smallest numbers, ties by place, in the order of its row. Any k of them
// are equally likely; but vertices with a common neighbour keep it together, and from one step to
// the next only one vertex in `redraw` has another number.

/// The numbers of one layer of one step.
class SharedNumbers {
public:
    /// `key` has purpose, seed, step and layer; `redraw` is 1 to 2^31.
    SharedNumbers(const StreamKey& key, std::uint64_t redraw) noexcept;

    [[nodiscard]] std::uint32_t redraw() const noexcept { return redraw_; }
    /// Below `redraw`.
    [[nodiscard]] std::uint32_t phase(VertexId t) const noexcept {
        const std::uint32_t mixed = static_cast<std::uint32_t>(t) * mix;
        return static_cast<std::uint32_t>((std::uint64_t{mixed} * redraw_) >> 32);
    }
    [[nodiscard]] std::uint32_t number(VertexId t) const noexcept;

    // Of many vertices whose ids have 32 bits. All codes give the same.
    /// Writes the number of each; `out` has room for 15 more.
    void write(DrawCode code, const std::uint32_t* ids, std::size_t count,
               std::uint32_t* out) const noexcept;
    /// Writes ids and numbers of those whose number is at most `limit`, in order, and returns how
    /// many; either has room for as many as that and 16 more.
    [[nodiscard]] std::size_t collect(DrawCode code, const std::uint32_t* ids, std::size_t count,
                                      std::uint32_t limit, std::uint32_t* out_ids,
                                      std::uint32_t* out_numbers) const noexcept;

    /// What the kernels read.
    struct Turn {
        std::uint32_t key;
        std::uint32_t turn;  ///< of phases below `next`; others are one further
        std::uint32_t next;
        std::uint32_t redraw;
    };

private:
    static constexpr std::uint32_t mix = 0x9E3779B1U;
    /// Blocks of the stream whose number is this one hold keys.
    static constexpr std::uint64_t shared_block = 0;

    RandomStream stream_;
    std::uint32_t redraw_;
    Turn turn_;
};

/// Keeps those of `count` pairs with the `wanted` smallest numbers (wanted < count), in order;
/// writes their ids. False, and nothing written, where a tie leaves open which.
[[nodiscard]] bool keep_smallest(DrawCode code, const std::uint32_t* ids,
                                 const std::uint32_t* numbers, std::size_t count,
                                 std::size_t wanted, std::uint32_t* out) noexcept;

}  // namespace rudder::sample
