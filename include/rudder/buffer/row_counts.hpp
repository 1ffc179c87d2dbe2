// Rows of a step or of a run, by the way they came.
#pragma once

#include <cstdint>

namespace rudder::buffer {

/// As design section 10 names them.
struct RowCounts {
    std::uint64_t needed = 0;  ///< local + hit + demand
    std::uint64_t local = 0;
    std::uint64_t hit = 0;
    std::uint64_t demand = 0;
    std::uint64_t replacement = 0;
    std::uint64_t ahead = 0;
    std::uint64_t wasted = 0;  ///< fetched, and never used
    std::uint64_t saved = 0;   ///< further uses in the same step

    RowCounts& operator+=(const RowCounts& other) noexcept {
        needed += other.needed;
        local += other.local;
        hit += other.hit;
        demand += other.demand;
        replacement += other.replacement;
        ahead += other.ahead;
        wasted += other.wasted;
        saved += other.saved;
        return *this;
    }
};

}  // namespace rudder::buffer
