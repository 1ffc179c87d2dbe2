// What bookkeeping is said to take, against what the structures take.
#include "buffer/bookkeeping.hpp"

#include <gtest/gtest.h>

#include "buffer/floor.hpp"
#include "rudder/buffer/id_buffer.hpp"
#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

constexpr std::uint64_t known_rows = 200'000;

/// Distinct rows, at random.
std::vector<buffer::RowKey> random_rows(Draws& draws, std::uint64_t count) {
    std::vector<buffer::RowKey> rows;
    const std::uint64_t stride = known_rows / count;
    for (std::uint64_t i = 0; i < count; ++i)
        rows.push_back(static_cast<buffer::RowKey>(i * stride + draws.below(stride)));
    return rows;
}

class BookkeepingOf : public testing::TestWithParam<const char*> {};

TEST_P(BookkeepingOf, IsWhatTheStructuresTake) {
    const buffer::PolicySpec policy = buffer::PolicySpec::parse(GetParam());
    for (const VertexId vertices : {VertexId{500'000}, VertexId{1} << 34}) {
        const buffer::BookkeepingShape shape{.vertices = vertices,
                                             .rows = known_rows,
                                             .slots = 50'000,
                                             .rows_per_step = 5000,
                                             .steps_ahead = 16};
        const buffer::BookkeepingBytes said = buffer::bookkeeping_bytes(policy, shape);
        std::vector<VertexId> halo(known_rows);
        for (std::size_t i = 0; i < halo.size(); ++i)
            halo[i] = i * 2 + 1;
        const buffer::RowNumbering numbering(vertices, halo);
        const std::vector<std::uint32_t> degree(halo.size(), 3);
        const std::vector<double> inclusion(halo.size(), 0.1);
        buffer::IdBuffer real(policy, {&numbering, degree, inclusion, {}, 0}, 50'000, 50'000);
        const RandomStream stream({Purpose::test, 3});
        Draws draws(stream, 0);
        std::vector<std::vector<buffer::RowKey>> steps;
        for (std::uint64_t s = 0; s < 40; ++s)
            steps.push_back(random_rows(draws, 5000));
        std::uint64_t published = 0;
        std::uint64_t lists = 0;
        for (std::uint64_t s = 0; s < 20; ++s) {
            for (; published <= s + std::min<std::uint64_t>(16, real.horizon()); ++published)
                real.publish(published, steps[published]);
            real.advance();
        }
        for (std::uint64_t s = 0; s <= 16; ++s)
            lists += steps[s].size() * sizeof(buffer::RowKey);
        EXPECT_NEAR(static_cast<double>(said.numbering), static_cast<double>(numbering.bytes()),
                    0.05 * static_cast<double>(numbering.bytes()));
        // Lists grow by doubling, and the small buffer has taken one step only.
        const auto found = static_cast<double>(real.bytes() + lists);
        EXPECT_NEAR(static_cast<double>(said.policy + said.steps), found, 0.3 * found);
    }
}

INSTANTIATE_TEST_SUITE_P(Policies, BookkeepingOf,
                         testing::Values("none", "static-degree", "static-vip", "lru", "lfu",
                                         "clock", "periodic", "scored-faithful,every:4",
                                         "scored,every:4", "window:16", "window:16,inclusion"));

TEST(Bookkeeping, HasNothingWithoutRowsAndGrowsWithThem) {
    const buffer::PolicySpec policy = buffer::PolicySpec::parse("window:16");
    EXPECT_EQ(buffer::bookkeeping_bytes(policy, {.vertices = 100}).sum(), 0U);
    buffer::BookkeepingShape shape{
        .vertices = 4'000'000, .rows = 1'000'000, .slots = 250'000, .floor = true};
    const buffer::BookkeepingBytes once = buffer::bookkeeping_bytes(policy, shape);
    EXPECT_EQ(once.floor, 4'000'000U);
    shape.vertices *= 2;
    shape.rows *= 2;
    shape.slots *= 2;
    const buffer::BookkeepingBytes twice = buffer::bookkeeping_bytes(policy, shape);
    EXPECT_NEAR(static_cast<double>(twice.of_rows()), 2.0 * static_cast<double>(once.of_rows()),
                0.1 * static_cast<double>(once.of_rows()));
    buffer::FloorCounter floor(250'000);
    floor.step({}, 1'000'000);
    EXPECT_EQ(floor.bytes(), once.floor);
}

}  // namespace
}  // namespace rudder::test
