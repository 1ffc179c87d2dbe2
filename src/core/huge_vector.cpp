#include "huge_vector.hpp"

#include <cstdlib>

#include <sys/mman.h>

namespace rudder {

void* allocate_huge(std::size_t bytes) {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    const std::size_t alignment = bytes >= 2 * huge_page ? huge_page : 64;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) throw std::bad_alloc();
    // Without huge pages it is memory like any other.
    if (alignment == huge_page) static_cast<void>(::madvise(memory, rounded, MADV_HUGEPAGE));
    return memory;
}

void free_huge(void* memory) noexcept {
    std::free(memory);
}

void collapse_huge(void* memory, std::size_t bytes) noexcept {
#if defined(MADV_COLLAPSE)
    constexpr int collapse = MADV_COLLAPSE;
#else
    constexpr int collapse = 25;  // as Linux has it since 6.1; earlier ones refuse it
#endif
    if (bytes != 0) static_cast<void>(::madvise(memory, bytes, collapse));
}

}  // namespace rudder
