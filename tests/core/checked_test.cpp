// Checked conversions and arithmetic, checks, errors.
#include "rudder/core/checked.hpp"

#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/check.hpp"
#include "rudder/core/version.hpp"

namespace rudder {
namespace {

using testing::HasSubstr;

TEST(Narrow, KeepsWhatFitsAtBothEnds) {
    EXPECT_EQ(narrow<std::uint8_t>(255, "x"), 255);
    EXPECT_EQ(narrow<std::int8_t>(-128, "x"), -128);
    EXPECT_EQ(narrow<std::uint32_t>(std::uint64_t{0xffffffff}, "x"), 0xffffffffU);
    EXPECT_EQ(narrow<std::int64_t>(std::uint64_t{0x7fffffffffffffff}, "x"),
              std::numeric_limits<std::int64_t>::max());
}

TEST(Narrow, RefusesWhatDoesNotAndNamesIt) {
    EXPECT_THROW((void)narrow<std::uint8_t>(256, "x"), Error);
    EXPECT_THROW((void)narrow<std::uint64_t>(-1, "x"), Error);
    EXPECT_THROW((void)narrow<std::int64_t>(std::uint64_t{1} << 63, "x"), Error);
    try {
        (void)narrow<std::int32_t>(std::int64_t{1} << 31, "the number of edges");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_THAT(error.problem(), HasSubstr("the number of edges"));
    }
}

TEST(Checked, MultipliesAndAddsUpToTheEdge) {
    constexpr auto top = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(checked_mul(top / 5, std::uint64_t{5}, "x"), top);
    EXPECT_EQ(checked_add(top - 1, std::uint64_t{1}, "x"), top);
    EXPECT_THROW((void)checked_mul(top / 5 + 1, std::uint64_t{5}, "x"), Error);
    EXPECT_THROW((void)checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32, "x"), Error);
    EXPECT_THROW((void)checked_add(top, std::uint64_t{1}, "x"), Error);
    EXPECT_THROW((void)checked_add(std::numeric_limits<int>::min(), -1, "x"), Error);
    EXPECT_EQ(checked_mul(std::uint64_t{0}, top, "x"), 0U);
}

TEST(Check, NamesConditionAndPlace) {
    const int two = 2;
    EXPECT_NO_THROW(RUDDER_CHECK(two == 2));
    try {
        RUDDER_CHECK(two == 3);
        FAIL();
    } catch (const InternalError& error) {
        EXPECT_THAT(error.what(), HasSubstr("'two == 3'"));
        EXPECT_THAT(error.what(), HasSubstr("checked_test.cpp"));
    }
}

TEST(Check, LevelsFollowTheBuild) {
    bool asked = false;
    const auto ask = [&asked] { return asked = true; };
    RUDDER_CHECK_HEAVY(ask());
    (void)ask;
    EXPECT_EQ(asked, build_info().checks == "heavy");
}

TEST(Error, SaysWhatWhereAndWhatToDo) {
    const Error error = usage_error("unknown method 'x'", "--method", "use metis");
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_STREQ(error.what(), "unknown method 'x'\n  where: --method\n  to do: use metis");
    EXPECT_STREQ(input_error("bad", "", "").what(), "bad");
}

TEST(Error, ExitCodesAreThoseOfTheDesign) {
    EXPECT_EQ(system_error("x", "", ENOSPC).exit_code(), 1);
    EXPECT_EQ(usage_error("x", "", "").exit_code(), 2);
    EXPECT_EQ(input_error("x", "", "").exit_code(), 3);
    EXPECT_EQ(Error(ErrorKind::rank, "x", "", "").exit_code(), 4);
    EXPECT_EQ(Error(ErrorKind::interrupted, "x", "", "").exit_code(), 5);
}

TEST(Error, OfTheSystemHasItsTextAndARemedy) {
    EXPECT_THAT(system_error("cannot write", "f", ENOSPC).problem(), HasSubstr("No space left"));
    for (const int code : {ENOSPC, EROFS, EACCES, ENOMEM, EMFILE, EIO}) {
        EXPECT_FALSE(system_error("x", "f", code).remedy().empty()) << code;
    }
}

TEST(Version, IsThatOfTheProject) {
    EXPECT_EQ(version(), RUDDER_TEST_VERSION);
    const BuildInfo info = build_info();
    EXPECT_EQ(info.version, version());
    EXPECT_FALSE(info.compiler.empty());
    EXPECT_FALSE(info.build_type.empty());
}

}  // namespace
}  // namespace rudder
