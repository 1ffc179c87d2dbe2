// Arrays and regions: owned, shared and mapped memory behind one view.
#include "rudder/core/array.hpp"

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/file.hpp"
#include "rudder/core/id_array.hpp"

#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using test::TempDir;

constexpr std::size_t large = (std::size_t{4} << 20) + 1;  // past the size that takes pages

TEST(Region, IsAlignedAndWritableAtEverySize) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{64},
                                    std::size_t{65}, large - 2, large - 1, large}) {
        const Region region = Region::allocate(bytes);
        EXPECT_EQ(region.size(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.data()) % 64, 0U) << bytes;
        EXPECT_FALSE(region.mapped_file());
        region.data()[0] = std::byte{1};
        region.data()[bytes - 1] = std::byte{2};
    }
}

TEST(Region, OfNothingIsEmpty) {
    EXPECT_EQ(Region::allocate(0).size(), 0U);
    EXPECT_EQ(Region::allocate_shared(0).size(), 0U);
    EXPECT_EQ(Region().data(), nullptr);
}

TEST(Region, MovesWithoutCopying) {
    Region first = Region::allocate(100);
    const std::byte* place = first.data();
    Region second = std::move(first);
    EXPECT_EQ(second.data(), place);
    Region third = Region::allocate(large);
    third = std::move(second);
    EXPECT_EQ(third.data(), place);
    EXPECT_EQ(third.size(), 100U);
}

TEST(Region, TooLargeIsAnErrorThatNamesTheSize) {
    try {
        (void)Region::allocate(std::size_t{1} << 62);
        FAIL() << "allocated 4 EiB";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::failed);
        EXPECT_NE(error.problem().find("4096.0 PiB"), std::string::npos) << error.problem();
        EXPECT_FALSE(error.remedy().empty());
    }
}

TEST(Region, SharedMemoryShowsWhatAChildWrote) {
    const Region region = Region::allocate_shared(4096);
    EXPECT_EQ(region.data()[7], std::byte{0});
    const pid_t child = ::fork();
    if (child == 0) {
        region.data()[7] = std::byte{42};
        ::_exit(0);
    }
    ASSERT_GT(child, 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(region.data()[7], std::byte{42});
}

TEST(Region, MapsAFile) {
    const TempDir folder;
    write_text(folder / "naïve name", "hello");
    const Region region = Region::map(folder / "naïve name");
    EXPECT_TRUE(region.mapped_file());
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(region.data()), region.size()), "hello");
}

TEST(Region, MapsAnEmptyFileAsNothing) {
    const TempDir folder;
    write_text(folder / "empty", "");
    EXPECT_EQ(Region::map(folder / "empty").size(), 0U);
    EXPECT_TRUE(Array<std::uint64_t>::adopt(Region::map(folder / "empty")).empty());
}

TEST(Region, OutlivesTheFilesName) {
    const TempDir folder;
    write_text(folder / "file", "still here");
    const Region region = Region::map(folder / "file");
    std::filesystem::remove(folder / "file");
    EXPECT_EQ(region.data()[0], std::byte{'s'});
}

TEST(Array, KeepsItsElements) {
    auto array = Array<std::uint32_t>::uninitialised(1000);
    std::iota(array.begin(), array.end(), 0U);
    EXPECT_EQ(array.size(), 1000U);
    EXPECT_EQ(array[999], 999U);
    EXPECT_EQ(std::as_const(array).span().back(), 999U);
    EXPECT_EQ(std::accumulate(array.begin(), array.end(), 0U), 499500U);
}

TEST(Array, ZeroedIsZeroWhateverWasThereBefore) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{10}, std::size_t{1} << 20}) {
        {
            auto dirty = Array<std::uint64_t>::uninitialised(count);
            std::fill(dirty.begin(), dirty.end(), ~std::uint64_t{0});
        }
        const auto array = Array<std::uint64_t>::zeroed(count);
        for (const std::uint64_t value : array) {
            ASSERT_EQ(value, 0U);
        }
    }
}

TEST(Array, CopiesValues) {
    const std::vector<float> values{1.0F, -2.5F, 3.25F};
    const auto array = Array<float>::copy_of(values);
    EXPECT_EQ(std::vector<float>(array.begin(), array.end()), values);
    EXPECT_TRUE(Array<float>::copy_of({}).empty());
}

TEST(Array, ShrinksButNeverGrows) {
    auto array = Array<int>::zeroed(10);
    array.shrink(20);
    EXPECT_EQ(array.size(), 10U);
    array.shrink(3);
    EXPECT_EQ(array.span().size(), 3U);
}

TEST(Array, WhoseSizeOverflowsIsRefused) {
    EXPECT_THROW((void)Array<std::uint64_t>::uninitialised(std::size_t{1} << 61), Error);
}

TEST(Array, OfAFileThatIsNoMultipleIsABug) {
    const TempDir folder;
    write_text(folder / "seven", "1234567");
    EXPECT_THROW((void)Array<std::uint32_t>::adopt(Region::map(folder / "seven")), InternalError);
}

TEST(IdArray, ShowsBothWidthsAlike) {
    const std::vector<std::uint32_t> narrow{3, 1, 4};
    const std::vector<std::uint64_t> wide{3, 1, std::uint64_t{1} << 33};
    const IdArray small(Array<std::uint32_t>::copy_of(narrow));
    const IdArray big(Array<std::uint64_t>::copy_of(wide));
    EXPECT_FALSE(small.span().wide());
    EXPECT_TRUE(big.span().wide());
    EXPECT_EQ(small.span().bytes(), 12U);
    EXPECT_EQ(big.span().as_bytes().size(), 24U);
    EXPECT_EQ(small.span()[2], 4U);
    EXPECT_EQ(big.span()[2], std::uint64_t{1} << 33);
    const auto total = [](auto ids) {
        return std::accumulate(ids.begin(), ids.end(), VertexId{0});
    };
    EXPECT_EQ(small.span().visit(total), 8U);
    EXPECT_EQ(big.span().visit(total), (std::uint64_t{1} << 33) + 4);
    EXPECT_EQ(IdArray().size(), 0U);
}

TEST(IdArray, NeedsWideIdsPastTwoToThe32) {
    EXPECT_FALSE(IdArray::needs_wide(0));
    EXPECT_FALSE(IdArray::needs_wide(std::uint64_t{1} << 32));
    EXPECT_TRUE(IdArray::needs_wide((std::uint64_t{1} << 32) + 1));
}

}  // namespace
}  // namespace rudder
