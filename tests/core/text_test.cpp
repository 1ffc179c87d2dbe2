// Words and quantities, log lines, and what the machine says of itself.
#include "rudder/core/text.hpp"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/log.hpp"
#include "core/system.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/function_ref.hpp"

namespace rudder {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Text, FormatsBytes) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1.0 KiB");
    EXPECT_EQ(format_bytes(1536), "1.5 KiB");
    EXPECT_EQ(format_bytes(std::uint64_t{3} << 30), "3.0 GiB");
    EXPECT_EQ(format_bytes((std::uint64_t{1} << 20) - 1), "1.0 MiB");
    EXPECT_EQ(format_bytes(~std::uint64_t{0}), "16384.0 PiB");
}

TEST(Text, FormatsCounts) {
    EXPECT_EQ(format_count(0), "0");
    EXPECT_EQ(format_count(999), "999");
    EXPECT_EQ(format_count(1000), "1,000");
    EXPECT_EQ(format_count(1234567), "1,234,567");
}

TEST(Text, ParsesBytes) {
    EXPECT_EQ(parse_bytes("4"), 4U);
    EXPECT_EQ(parse_bytes("4b"), 4U);
    EXPECT_EQ(parse_bytes("512k"), 512U << 10);
    EXPECT_EQ(parse_bytes("1.5GiB"), std::uint64_t{3} << 29);
    EXPECT_EQ(parse_bytes("2gb"), 2'000'000'000U);
    EXPECT_EQ(parse_bytes("1Ti"), std::uint64_t{1} << 40);
    for (const char* text :
         {"", "x", "1x", "1kk", "-1", "nan", "inf", "1e30", "1 k", "k", "1kib2"}) {
        EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
    }
}

TEST(Text, ParsesNumbersAndNothingElse) {
    EXPECT_EQ(parse_u64("18446744073709551615"), ~std::uint64_t{0});
    for (const char* text : {"", " 1", "1 ", "+1", "-1", "1.0", "0x1", "18446744073709551616"}) {
        EXPECT_EQ(parse_u64(text), std::nullopt) << text;
    }
    EXPECT_EQ(parse_double("-2.5e3"), -2500.0);
    EXPECT_EQ(parse_double(".5"), 0.5);
    for (const char* text : {"", "nan", "inf", "1e999", "1,5", "1.5x", " 1"}) {
        EXPECT_EQ(parse_double(text), std::nullopt) << text;
    }
}

TEST(Text, SplitsAndJoins) {
    EXPECT_THAT(split("a,b,,c", ','), ElementsAre("a", "b", "", "c"));
    EXPECT_THAT(split("", ','), ElementsAre(""));
    EXPECT_THAT(split(",", ','), ElementsAre("", ""));
    const std::array<std::string_view, 3> words{"a", "b", "c"};
    EXPECT_EQ(join(words, ", "), "a, b, c");
    EXPECT_EQ(join({}, ", "), "");
}

TEST(Text, FindsTheNearestWord) {
    const std::array<std::string_view, 4> methods{"metis", "fennel", "ldg", "random"};
    EXPECT_EQ(nearest("mets", methods), "metis");
    EXPECT_EQ(nearest("randmo", methods), "random");
    EXPECT_EQ(nearest("fenel", methods), "fennel");
    EXPECT_EQ(nearest("metsi", methods), "metis");  // two letters swapped are one mistake
    EXPECT_EQ(nearest("ldg", methods), "ldg");
    EXPECT_EQ(nearest("completely else", methods), std::nullopt);
    EXPECT_EQ(nearest("metis", {}), std::nullopt);
}

TEST(Log, LinesHaveTheirLevelOnStandardError) {
    testing::internal::CaptureStderr();
    log::info("hello {}");
    log::warning("careful 3%");
    log::error("bad");
    const std::string lines = testing::internal::GetCapturedStderr();
    EXPECT_EQ(lines, "rudder: info: hello {}\nrudder: warning: careful 3%\nrudder: error: bad\n");
}

TEST(Log, LevelsHideWhatIsBelow) {
    EXPECT_FALSE(log::enabled(log::Level::debug));
    log::set_level(log::Level::warning);
    testing::internal::CaptureStderr();
    log::debug("one");
    log::info("two");
    log::warning("three");
    log::set_level(log::Level::off);
    log::error("four");
    log::set_level(log::Level::info);
    const std::string lines = testing::internal::GetCapturedStderr();
    EXPECT_THAT(lines, HasSubstr("three"));
    EXPECT_THAT(lines, Not(HasSubstr("two")));
    EXPECT_THAT(lines, Not(HasSubstr("four")));
}

TEST(System, SaysWhatTheMachineHas) {
    const MemoryInfo memory = memory_info();
    EXPECT_GT(memory.total, std::uint64_t{1} << 20);
    EXPECT_LE(memory.available, memory.total);
    EXPECT_GE(usable_cores(), 1);
    EXPECT_FALSE(cpu_info().model.empty());
}

TEST(System, PeakMemoryGrowsWithUse) {
    const std::uint64_t before = peak_resident_bytes();
    const auto array = Array<std::uint8_t>::zeroed(std::size_t{64} << 20);
    EXPECT_EQ(array[1000], 0);
    EXPECT_GE(peak_resident_bytes(), before);
    EXPECT_GE(peak_resident_bytes(), std::uint64_t{64} << 20);
}

TEST(FunctionRef, CallsWhatItRefersTo) {
    int calls = 0;
    auto add = [&calls](int n) { return calls += n; };
    const FunctionRef<int(int)> ref = add;
    EXPECT_EQ(ref(2), 2);
    const FunctionRef<int(int)> copy = ref;
    EXPECT_EQ(copy(3), 5);
}

}  // namespace
}  // namespace rudder
