// Counts what a test program allocates with `new`, and lets one allocation fail; for programs that
// have counted_heap.cpp.
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

/// Whose allocations are counted by the next two; must not allocate.
using HeapUser = bool (*)();
/// The n-th allocation of this user from now on throws bad_alloc; the others succeed. Not within
/// functions of libraries that must not throw: then the one after it.
void fail_allocation(std::uint64_t nth, HeapUser user) noexcept;
/// How many there have been since. No more are counted.
std::uint64_t stop_failing() noexcept;

}  // namespace rudder::test
