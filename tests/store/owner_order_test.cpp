// The order in which owners are asked for rows, against sorting.
#include "store/owner_order.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

using Order = store::OwnerOrder<std::uint32_t>;

std::vector<Order::Row> draw_rows(Draws& draws, std::size_t count, std::uint64_t owners) {
    std::vector<Order::Row> rows;
    for (std::size_t i = 0; i < count; ++i) {
        rows.push_back({draws.below(1000), static_cast<std::uint32_t>(i),
                        static_cast<int>(draws.below(owners))});
    }
    return rows;
}

TEST(OwnerOrder, IsThatOfAStableSortByOwnerChunkAndVertex) {
    Order order;  // one for all, so that its memory is used again
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const RandomStream stream({Purpose::test, seed, 71});
        Draws draws(stream, 0);
        const std::uint64_t owners = 1 + draws.below(5);
        const std::size_t chunk = 1 + draws.below(40);
        auto rows = draw_rows(draws, draws.below(300), owners);
        order.begin(chunk_count(rows.size(), chunk), owners);
        for (std::size_t i = 0; i < rows.size(); ++i)
            order.part(i / chunk).add(rows[i]);
        std::vector<std::uint64_t> by_owner(owners, 5);  // is added to
        ASSERT_EQ(order.order(by_owner), rows.size());
        std::vector<std::uint32_t> found(rows.size(), 0xffffffffU);
        order.walk([&](std::uint32_t place, const Order::Row& row) { found[place] = row.purpose; });
        for (auto at = rows.begin(); at < rows.end(); at += static_cast<std::ptrdiff_t>(chunk)) {
            const auto left = static_cast<std::size_t>(rows.end() - at);
            const auto some = static_cast<std::ptrdiff_t>(std::min(chunk, left));
            std::stable_sort(at, at + some,
                             [](const auto& a, const auto& b) { return a.vertex < b.vertex; });
            if (left <= chunk) break;
        }
        std::ranges::stable_sort(rows, {}, &Order::Row::owner);
        for (std::size_t i = 0; i < rows.size(); ++i)
            ASSERT_EQ(found[i], rows[i].purpose) << "seed " << seed << ", place " << i;
        for (std::size_t r = 0; r < owners; ++r) {
            EXPECT_EQ(by_owner[r], 5U + static_cast<std::uint64_t>(std::ranges::count(
                                            rows, static_cast<int>(r), &Order::Row::owner)));
        }
    }
}

TEST(OwnerOrder, OfNothingIsEmpty) {
    Order order;
    order.begin(0, 3);
    std::vector<std::uint64_t> by_owner(3, 0);
    EXPECT_EQ(order.order(by_owner), 0U);
    order.walk([](std::uint32_t /*place*/, const Order::Row& /*row*/) { ADD_FAILURE(); });
    EXPECT_EQ(by_owner, (std::vector<std::uint64_t>{0, 0, 0}));
}

}  // namespace
}  // namespace rudder::test
