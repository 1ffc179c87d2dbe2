// How far the window policy looks ahead if nobody says so.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rudder::buffer {

/// Steps that are looked ahead at least, and at most.
inline constexpr std::uint64_t shortest_fitting_window = 16;
inline constexpr std::uint64_t longest_fitting_window = 128;

/// The window whose steps need ten times the rows that the buffer holds. To choose well which rows
/// stay, the rule must see the next uses of more rows than it can keep; beyond ten buffers full it
/// hardly chooses better, and steps that wait take memory. `step_rows` is what a step needs.
[[nodiscard]] constexpr std::uint64_t fitting_window(std::uint64_t capacity,
                                                     std::uint64_t step_rows) noexcept {
    constexpr std::uint64_t buffers_full = 10;
    if (step_rows == 0) return shortest_fitting_window;
    return std::clamp((capacity * buffers_full + step_rows - 1) / step_rows,
                      shortest_fitting_window, longest_fitting_window);
}

}  // namespace rudder::buffer
