// Vectors whose memory lies on huge pages where there is much of it and the system has them.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace rudder {

/// Memory for `bytes`, aligned to a cache line; large blocks to a huge page, which is asked for.
[[nodiscard]] void* allocate_huge(std::size_t bytes);
void free_huge(void* memory) noexcept;
/// Moves memory that has been written to huge pages, where the system has them: shared memory,
/// which mostly gets none at first. Takes some seconds per gigabyte.
void collapse_huge(void* memory, std::size_t bytes) noexcept;

/// What is looked up at random in a large vector costs a miss of the address cache besides that of
/// the data; on huge pages it rarely does.
template <class T>
struct HugeAllocator {
    using value_type = T;

    HugeAllocator() = default;
    template <class U>
    HugeAllocator(const HugeAllocator<U>& /*other*/) noexcept {}  // NOLINT: as the library asks
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
        return static_cast<T*>(allocate_huge(count * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t /*count*/) noexcept { free_huge(memory); }
    friend bool operator==(const HugeAllocator&, const HugeAllocator&) { return true; }
};

template <class T>
using HugeVector = std::vector<T, HugeAllocator<T>>;

}  // namespace rudder
