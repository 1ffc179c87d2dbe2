// Counts what a test program allocates with `new`; for programs that have counted_heap.cpp.
#pragma once

#include <cstdint>

namespace rudder::test {

struct HeapCounts {
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;  ///< held now
    std::uint64_t peak = 0;   ///< the most held since `restart_peak`
};

/// Of the whole program so far.
[[nodiscard]] HeapCounts heap_counts() noexcept;
void restart_peak() noexcept;

}  // namespace rudder::test
