// Conversions and arithmetic that refuse to lose a bit.
#pragma once

#include <concepts>
#include <string_view>
#include <utility>

#include "rudder/core/error.hpp"

namespace rudder {

/// Thrown texts are built out of line, so that the checks inline to a compare and a branch.
[[noreturn]] void throw_narrowing(std::string_view what);
[[noreturn]] void throw_overflow(std::string_view what);

/// `value` as a `To`; an Error naming `what` when it does not fit.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr To narrow(From value, std::string_view what) {
    if (!std::in_range<To>(value)) throw_narrowing(what);
    return static_cast<To>(value);
}

/// a * b; an Error naming `what` when the product does not fit.
template <std::integral T>
[[nodiscard]] constexpr T checked_mul(T a, T b, std::string_view what) {
    T result{};
    if (__builtin_mul_overflow(a, b, &result)) throw_overflow(what);
    return result;
}

/// a + b; an Error naming `what` when the sum does not fit.
template <std::integral T>
[[nodiscard]] constexpr T checked_add(T a, T b, std::string_view what) {
    T result{};
    if (__builtin_add_overflow(a, b, &result)) throw_overflow(what);
    return result;
}

}  // namespace rudder
