// Sorting digit by digit, against the standard library.
#include "core/radix_sort.hpp"

#include <gtest/gtest.h>

#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

struct Item {
    std::uint64_t key;
    std::uint32_t number;
    friend bool operator==(const Item&, const Item&) = default;
};

TEST(RadixSort, IsAStableSort) {
    std::vector<Item> scratch;  // one for all, so that its memory is used again
    for (const std::size_t count : {0U, 1U, 2U, 255U, 256U, 257U, 1000U, 5000U}) {
        for (const unsigned bits : {0U, 1U, 5U, 11U, 12U, 22U, 33U, 63U}) {
            const RandomStream stream({Purpose::test, bits, static_cast<std::uint32_t>(count)});
            Draws draws(stream, 0);
            std::vector<Item> items;
            for (std::uint32_t i = 0; i < count; ++i)
                items.push_back({1'000'000 + draws.below(std::uint64_t{1} << bits), i});
            std::vector<Item> expected = items;
            std::ranges::stable_sort(expected, {}, &Item::key);
            radix_sort(items, scratch, [](const Item& item) { return item.key; });
            ASSERT_EQ(items, expected) << count << " of " << bits << " bits";
            radix_sort(items, scratch, [](const Item& item) { return item.key; });
            ASSERT_EQ(items, expected) << "sorted already";
        }
    }
}

}  // namespace
}  // namespace rudder::test
