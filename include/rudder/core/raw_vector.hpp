// Vectors whose resize leaves new elements as they are: for memory that is about to be written.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace rudder {

/// The standard allocator, but `resize` of a vector does not set new elements to zero.
template <class T>
struct RawAllocator : std::allocator<T> {
    static_assert(std::is_trivially_default_constructible_v<T>);
    template <class U>
    struct rebind {  // NOLINT(readability-identifier-naming): a name of the standard
        using other = RawAllocator<U>;
    };

    RawAllocator() = default;
    template <class U>
    RawAllocator(const RawAllocator<U>& /*other*/) noexcept {}  // NOLINT: a conversion

    template <class U>
    void construct(U* at) noexcept {
        ::new (static_cast<void*>(at)) U;
    }
    template <class U, class... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        std::construct_at(at, std::forward<Arguments>(arguments)...);
    }
};

/// A vector in everything but that.
template <class T>
using RawVector = std::vector<T, RawAllocator<T>>;

}  // namespace rudder
