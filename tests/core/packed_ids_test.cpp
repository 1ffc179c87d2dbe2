// Packed lists of ids: known bytes, against the slow way bit by bit, and whatever is malformed.
#include "core/packed_ids.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "rudder/core/random.hpp"

#include "support/slow_packed_ids.hpp"

namespace rudder::test {
namespace {

constexpr VertexId no_limit = std::numeric_limits<VertexId>::max();
using Ids = std::vector<VertexId>;
using Bytes = std::vector<int>;

RawVector<std::byte> packed_list(const Ids& ids, VertexId begin = 0) {
    RawVector<std::byte> bytes;
    pack_ids(ids, begin, bytes);
    return bytes;
}

Bytes numbers(const RawVector<std::byte>& bytes) {
    Bytes all;
    for (const std::byte byte : bytes)
        all.push_back(std::to_integer<int>(byte));
    return all;
}

bool readable(const Bytes& bytes, VertexId limit = no_limit) {
    std::vector<std::byte> raw;
    for (const int byte : bytes)
        raw.push_back(static_cast<std::byte>(byte));
    RawVector<VertexId> ids;
    return unpack_ids(raw, 0, limit, ids);
}

/// Both ways, and as the slow version writes it.
void expect_round_trip(const Ids& ids, VertexId begin, const std::string& what) {
    const auto bytes = packed_list(ids, begin);
    const auto slow = slow_packed_ids(ids, begin);
    ASSERT_TRUE(std::ranges::equal(bytes, slow)) << what;
    RawVector<VertexId> back{1, 2, 3};
    ASSERT_TRUE(unpack_ids(bytes, begin, no_limit, back)) << what;
    ASSERT_TRUE(std::ranges::equal(back, ids)) << what;
}

TEST(PackedIds, KnownBytes) {
    EXPECT_EQ(numbers(packed_list({})), (Bytes{0}));
    EXPECT_EQ(numbers(packed_list({7})), (Bytes{1, 7}));
    EXPECT_EQ(numbers(packed_list({300})), (Bytes{1, 0xac, 0x02})) << "7 bits to a byte";
    EXPECT_EQ(numbers(packed_list({1007, 1008, 1009}, 1000)), (Bytes{3, 7, 0}))
        << "in a row: no bits";
    EXPECT_EQ(numbers(packed_list({0, 3, 4, 8})), (Bytes{4, 0, 2, 0b110010}))
        << "2, 0, 3 in 2 bits";
    EXPECT_EQ(numbers(packed_list({5, 3})), (Bytes{2, 5, 0x82, 3})) << "-2 is 3";
    EXPECT_EQ(numbers(packed_list({5, 5})), (Bytes{2, 5, 0x80}))
        << "twice the same: no bits either";
}

TEST(PackedIds, AWholeRangeTakesAByteForEachBlock) {
    Ids ids(100'001);
    std::iota(ids.begin(), ids.end(), VertexId{500});
    EXPECT_EQ(packed_list(ids, 500).size(), 3 + 1 + (100'000 + 127) / 128U);
    expect_round_trip(ids, 500, "a range");
}

TEST(PackedIds, EveryWidthAndCountRoundTrip) {
    for (unsigned width = 0; width <= 64; ++width) {
        for (const std::size_t count :
             {1U, 2U, 31U, 32U, 33U, 64U, 127U, 128U, 129U, 130U, 161U, 256U, 257U, 300U}) {
            const RandomStream stream({Purpose::test, width, static_cast<std::uint32_t>(count)});
            Draws draws(stream, 0);
            Ids ascending{draws.below(1000)};
            Ids any{draws.below(1000)};
            for (std::size_t i = 1; i < count; ++i) {
                const std::uint64_t mask = width == 64 ? ~0ULL : (1ULL << width) - 1;
                any.push_back((draws.below(1ULL << 32) << 32 | draws.below(1ULL << 32)) & mask);
                const std::uint64_t step = any.back() >> (width > 54 ? width - 54 : 0);
                ascending.push_back(ascending.back() + 1 + step);
            }
            const std::string what = std::to_string(width) + " bits, " + std::to_string(count);
            expect_round_trip(ascending, 0, what + " ascending");
            expect_round_trip(any, 0, what + " in any order");
            std::ranges::sort(any);
            expect_round_trip(any, any.front(), what + " sorted, some twice");
        }
    }
}

/// Random subsets of a range, as questions are: their size is what their density says.
TEST(PackedIds, SubsetsOfARangeAreShort) {
    for (const std::uint64_t one_in : {2U, 10U, 100U, 1000U}) {
        const RandomStream stream({Purpose::test, one_in, 3});
        Draws draws(stream, 0);
        Ids ids;
        for (VertexId v = 0; v < 300'000; ++v)
            if (draws.below(one_in) == 0) ids.push_back(v + 77);
        expect_round_trip(ids, 77, "one in " + std::to_string(one_in));
        const double each =
            static_cast<double>(packed_list(ids, 77).size()) / static_cast<double>(ids.size());
        EXPECT_LT(each, one_in <= 100 ? 1.4 : 2.0) << "one in " << one_in;
    }
}

TEST(PackedIds, AreAppended) {
    RawVector<std::byte> bytes{std::byte{9}};
    pack_ids(Ids{4, 5}, 4, bytes);
    EXPECT_EQ(numbers(bytes), (Bytes{9, 2, 0, 0}));
}

TEST(PackedIds, MalformedListsAreRefused) {
    EXPECT_TRUE(readable({4, 0, 2, 0b110010}));
    EXPECT_FALSE(readable({})) << "no count";
    EXPECT_FALSE(readable({0x80})) << "half a count";
    EXPECT_FALSE(readable({1})) << "no first id";
    EXPECT_FALSE(readable({0, 0})) << "more than nothing";
    EXPECT_FALSE(readable({4, 0})) << "no block";
    EXPECT_FALSE(readable({4, 0, 2})) << "no differences";
    EXPECT_FALSE(readable({4, 0, 2, 0b110010, 0})) << "a byte too many";
    EXPECT_FALSE(readable({2, 0, 65, 1, 1, 1, 1, 1, 1, 1, 1, 1})) << "wider than an id";
    EXPECT_FALSE(readable({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0}))
        << "more ids than memory has";
    EXPECT_FALSE(readable({1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}))
        << "an id of 65 bits";
    EXPECT_FALSE(readable({4, 0, 2, 0b110010}, 8)) << "8 is not below 8";
    EXPECT_TRUE(readable({4, 0, 2, 0b110010}, 9));
    EXPECT_FALSE(readable({2, 5, 0x84, 11}, 100)) << "before the first";
    EXPECT_FALSE(readable({2, 5, 64, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 100))
        << "ascends past the last and round to the first";
}

/// Whatever is cut or changed is refused or read as something else, in bounds (the sanitizers see).
TEST(PackedIds, NothingIsReadOutOfBounds) {
    const RandomStream stream({Purpose::test, 5, 3});
    Draws draws(stream, 0);
    for (int round = 0; round < 3000; ++round) {
        Ids ids(draws.below(400));
        for (VertexId& id : ids)
            id = draws.below(1 + draws.below(1ULL << draws.below(63)));
        if (round % 2 == 0) std::ranges::sort(ids);
        auto packed = packed_list(ids);
        for (std::uint64_t i = draws.below(4); i > 0; --i)
            packed[draws.below(packed.size())] = static_cast<std::byte>(draws.below(256));
        packed.resize(draws.below(packed.size() + 1));
        const std::vector<std::byte> exact(packed.begin(), packed.end());
        RawVector<VertexId> back;
        if (!unpack_ids(exact, 0, 1ULL << 40, back)) continue;
        for (const VertexId id : back)
            ASSERT_LT(id, 1ULL << 40);
    }
}

}  // namespace
}  // namespace rudder::test
