// From the name of an element type to code for the C++ type, for loops over raw elements.
#pragma once

#include <cstring>
#include <type_traits>

#include "rudder/core/check.hpp"
#include "rudder/core/element.hpp"

namespace rudder::graph {

/// Stands for a half float among the C++ types.
struct HalfBits {
    std::uint16_t bits;
};

/// Calls `f` with a value-initialised element of the C++ type that `type` names.
template <class F>
decltype(auto) visit_element(ElementType type, F&& f) {
    switch (type) {
        case ElementType::u8:
            return f(std::uint8_t{});
        case ElementType::i8:
            return f(std::int8_t{});
        case ElementType::u16:
            return f(std::uint16_t{});
        case ElementType::i16:
            return f(std::int16_t{});
        case ElementType::u32:
            return f(std::uint32_t{});
        case ElementType::i32:
            return f(std::int32_t{});
        case ElementType::u64:
            return f(std::uint64_t{});
        case ElementType::i64:
            return f(std::int64_t{});
        case ElementType::f16:
            return f(HalfBits{});
        case ElementType::f64:
            return f(double{});
        default:
            break;
    }
    RUDDER_CHECK(type == ElementType::f32);
    return f(float{});
}

/// Element i of some raw bytes.
template <class T>
[[nodiscard]] inline T load(const std::byte* bytes, std::size_t i) noexcept {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    return value;
}

/// Any element as a float.
template <class T>
[[nodiscard]] inline float as_float(T value) noexcept {
    if constexpr (std::is_same_v<T, HalfBits>) {
        return f16_to_float(value.bits);
    } else {
        return static_cast<float>(value);
    }
}

}  // namespace rudder::graph
