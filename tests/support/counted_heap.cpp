#include "counted_heap.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>

namespace {

std::atomic<std::uint64_t> heap_allocations{0};
std::atomic<std::uint64_t> heap_bytes{0};
std::atomic<std::uint64_t> heap_peak{0};

std::atomic<rudder::test::HeapUser> failing_user{nullptr};
std::atomic<std::uint64_t> failing_at{0};
std::atomic<std::uint64_t> of_user{0};

/// Functions of libraries that allocate and are `noexcept`: memory that runs out there ends the
/// program, whatever we do. Parts of mangled names.
constexpr std::array<std::string_view, 3> must_not_throw{
    "json_value7destroy", "directory_iterator9increment", "filesystem7__cxx1118directory_iterator"};

/// Whether one of those is being called. Needs names in the program (ENABLE_EXPORTS).
bool where_nothing_may_throw() {
    std::array<void*, 64> frames{};
    const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    for (int i = 0; i < count; ++i) {
        Dl_info info{};
        if (::dladdr(frames[static_cast<std::size_t>(i)], &info) == 0 || info.dli_sname == nullptr)
            continue;
        for (const std::string_view name : must_not_throw) {
            if (std::string_view(info.dli_sname).find(name) != std::string_view::npos) return true;
        }
    }
    return false;
}

void fail_if_due() {
    const rudder::test::HeapUser user = failing_user.load(std::memory_order_relaxed);
    if (user == nullptr || !user() || ++of_user != failing_at) return;
    if (!where_nothing_may_throw()) throw std::bad_alloc();
    ++failing_at;  // then the next one
}

void* counted(std::size_t size) {
    fail_if_due();
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) throw std::bad_alloc();
    ++heap_allocations;
    const std::uint64_t now = heap_bytes += ::malloc_usable_size(memory);
    std::uint64_t peak = heap_peak;
    while (peak < now && !heap_peak.compare_exchange_weak(peak, now)) {
    }
    return memory;
}

void uncounted(void* memory) noexcept {
    if (memory != nullptr) heap_bytes -= ::malloc_usable_size(memory);
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
    return counted(size);
}
void* operator new[](std::size_t size) {
    return counted(size);
}
// What is asked for so is freed by the operators below, too.
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    try {
        return counted(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* memory) noexcept {
    uncounted(memory);
}
void operator delete[](void* memory) noexcept {
    uncounted(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
    uncounted(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
    uncounted(memory);
}

namespace rudder::test {

HeapCounts heap_counts() noexcept {
    return {heap_allocations, heap_bytes, heap_peak};
}

void restart_peak() noexcept {
    heap_peak = heap_bytes.load();
}

void fail_allocation(std::uint64_t nth, HeapUser user) noexcept {
    static_cast<void>(where_nothing_may_throw());  // the first call loads a library
    of_user = 0;
    failing_at = nth;
    failing_user = user;
}

std::uint64_t stop_failing() noexcept {
    failing_user = nullptr;
    return of_user;
}

}  // namespace rudder::test
