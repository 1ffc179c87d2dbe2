// The checksum of arrays: its definition, and that streaming gives the same.
#include "rudder/core/checksum.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"

namespace rudder {
namespace {

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 0);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(draws.next32() & 0xffU);
    }
    return bytes;
}

TEST(Checksum, OfNothingIsThatOfNoBlocks) {
    EXPECT_EQ(hash_bytes({}), 0x2d06800538d394c2U);  // published XXH3-64 of nothing
    EXPECT_EQ(array_checksum({}), hash_bytes({}));
    EXPECT_EQ(ChecksumStream().finish(), hash_bytes({}));
}

TEST(Checksum, IsTheHashOfTheHashesOfBlocks) {
    const auto bytes = random_bytes(checksum_block + 10, 1);
    const std::span<const std::byte> all(bytes);
    const std::vector<std::uint64_t> blocks{hash_bytes(all.first(checksum_block)),
                                            hash_bytes(all.subspan(checksum_block))};
    EXPECT_EQ(array_checksum(all), hash_bytes(std::as_bytes(std::span(blocks))));
}

TEST(Checksum, StreamEqualsArrayForAnyChunking) {
    const auto bytes = random_bytes(2 * checksum_block + 12345, 2);
    const std::uint64_t expected = array_checksum(bytes);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const RandomStream stream({.purpose = Purpose::test, .seed = seed});
        Draws draws(stream, 1);
        // From tiny pieces to several blocks at once.
        const std::size_t largest = std::size_t{1} << (12 + seed);
        ChecksumStream sum;
        std::span<const std::byte> rest(bytes);
        while (!rest.empty()) {
            const std::size_t take = std::min(rest.size(), draws.below(largest));
            sum.update(rest.first(take));
            rest = rest.subspan(take);
        }
        EXPECT_EQ(sum.finish(), expected) << seed;
    }
}

TEST(Checksum, StreamAtBlockEdges) {
    for (const std::size_t size :
         {checksum_block - 1, checksum_block, checksum_block + 1, 2 * checksum_block}) {
        const std::vector<std::byte> bytes(size, std::byte{7});
        ChecksumStream sum;
        sum.update(std::span(bytes).first(1));
        sum.update(std::span(bytes).subspan(1));
        EXPECT_EQ(sum.finish(), array_checksum(bytes)) << size;
    }
}

TEST(Checksum, StreamCanBeUsedAgain) {
    ChecksumStream sum;
    const auto bytes = random_bytes(100, 3);
    sum.update(bytes);
    const std::uint64_t first = sum.finish();
    sum.update(bytes);
    EXPECT_EQ(sum.finish(), first);
}

TEST(Checksum, EveryBitCounts) {
    auto bytes = random_bytes(1000, 4);
    const std::uint64_t before = array_checksum(bytes);
    for (const std::size_t at : {0U, 499U, 999U}) {
        bytes[at] ^= std::byte{1};
        EXPECT_NE(array_checksum(bytes), before);
        bytes[at] ^= std::byte{1};
    }
    EXPECT_EQ(array_checksum(bytes), before);
}

TEST(Checksum, DoesNotDependOnTheNumberOfThreads) {
    const auto bytes = random_bytes(3 * checksum_block, 5);
    const std::uint64_t expected = array_checksum(bytes);
    for (const int threads : {1, 2, 7}) {
        set_thread_count(threads);
        EXPECT_EQ(array_checksum(bytes), expected);
    }
    set_thread_count(0);
}

TEST(Hex, GoesBothWays) {
    EXPECT_EQ(to_hex(0), "0000000000000000");
    EXPECT_EQ(to_hex(~std::uint64_t{0}), "ffffffffffffffff");
    EXPECT_EQ(from_hex("0123456789abcdef", "x"), 0x0123456789abcdefU);
    EXPECT_EQ(from_hex(to_hex(0xdeadbeef), "x"), 0xdeadbeefU);
}

TEST(Hex, RefusesWhatIsNone) {
    for (const char* text : {"", "123", "0123456789abcdeg", "0123456789abcdef0", "0x23456789abcdef",
                             "-123456789abcdef", "+123456789abcdef", " 123456789abcdef"}) {
        EXPECT_THROW((void)from_hex(text, "here"), Error) << text;
    }
}

}  // namespace
}  // namespace rudder
