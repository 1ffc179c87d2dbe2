// Sorting by an integer, one digit after the other: for some thousand items at a time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rudder {

/// Sorts items by `key(item)`, an unsigned number; equal ones stay in their order. What is sorted
/// already costs a look at each. `scratch` is memory that may be used again.
template <class T, class Key>
void radix_sort(std::vector<T>& items, std::vector<T>& scratch, Key&& key) {
    constexpr unsigned digit_bits = 11;
    constexpr std::size_t digits = std::size_t{1} << digit_bits;
    constexpr std::size_t few = 256;
    if (std::ranges::is_sorted(items, {}, key)) return;
    if (items.size() < few) {
        std::ranges::stable_sort(items, {}, key);
        return;
    }
    std::uint64_t low = key(items.front());
    std::uint64_t high = low;
    for (const T& item : items) {
        low = std::min<std::uint64_t>(low, key(item));
        high = std::max<std::uint64_t>(high, key(item));
    }
    scratch.resize(items.size(), items.front());
    for (unsigned shift = 0; shift < std::bit_width(high - low); shift += digit_bits) {
        const auto digit = [&](const T& item) { return ((key(item) - low) >> shift) % digits; };
        std::array<std::uint32_t, digits> place{};
        for (const T& item : items)
            ++place[digit(item)];
        std::uint32_t sum = 0;
        for (std::uint32_t& at : place) {
            const std::uint32_t count = at;
            at = sum;
            sum += count;
        }
        for (const T& item : items)
            scratch[place[digit(item)]++] = item;
        items.swap(scratch);
    }
}

}  // namespace rudder
