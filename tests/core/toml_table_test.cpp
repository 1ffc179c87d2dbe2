// TOML read key by key: what is wrong is refused by file, line and key.
#include "core/toml_table.hpp"

#include <gmock/gmock.h>

#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TomlTable some_table() {
    return TomlTable::parse(R"(
rate = 1.5
steps = 20
name = "one"
sizes = [1, 2, 3]
words = ["a", "b"]
shares = [0.5, 1]
fast = true
[below]
depth = 1
[[rows]]
of = 1
[[rows]]
of = 2
)",
                            "some.toml");
}

/// The whole message of what `call` throws; it must be one of input.
template <class F>
std::string table_refusal(F&& call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 3);
        return error.what();
    }
    return "nothing was refused";
}

TEST(TomlTable, GivesValuesByTheirTypes) {
    const TomlTable table = some_table();
    EXPECT_EQ(table.number("rate"), 1.5);
    EXPECT_EQ(table.number("steps"), 20) << "whole numbers are numbers";
    EXPECT_EQ(table.whole("steps"), 20U);
    EXPECT_EQ(table.text("name"), "one");
    EXPECT_TRUE(table.truth("fast"));
    EXPECT_THAT(table.wholes("sizes"), ElementsAre(1, 2, 3));
    EXPECT_THAT(table.texts("words"), ElementsAre("a", "b"));
    EXPECT_THAT(table.numbers("shares"), ElementsAre(0.5, 1));
    EXPECT_EQ(table.word("name", std::array<std::string_view, 2>{"none", "one"}), 1U);
    const TomlTable below = table.table("below");
    EXPECT_EQ(below.whole("depth"), 1U);
    const auto rows = table.tables("rows");
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[1].whole("of"), 2U);
    EXPECT_TRUE(table.tables("missing").empty());
    EXPECT_FALSE(table.has("missing"));
    table.finish();
    below.finish();
}

TEST(TomlTable, NamesTheLineAndTheKeyOfAWrongType) {
    const TomlTable table = some_table();
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.text("rate")); }),
                AllOf(HasSubstr("invalid value of key 'rate': not a text"),
                      HasSubstr("some.toml, line 2")));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.number("name")); }),
                AllOf(HasSubstr("'name': not a number"), HasSubstr("line 4")));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.whole("rate")); }),
                HasSubstr("'rate': not a whole number"));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.truth("steps")); }),
                HasSubstr("'steps': neither true nor false"));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.texts("sizes")); }),
                HasSubstr("'sizes': not a list of texts"));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.texts("name")); }),
                HasSubstr("'name': not a list"));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.table("name")); }),
                HasSubstr("'name': not a table"));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.tables("sizes")); }),
                HasSubstr("'sizes': not a list of tables"));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.word("name", {})); }),
                HasSubstr("'name': 'one'"));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.tables("rows")[1].text("of")); }),
                AllOf(HasSubstr("'rows[2].of'"), HasSubstr("line 14")));
}

TEST(TomlTable, HoldsNumbersToTheirLimits) {
    const TomlTable table = TomlTable::parse("a = -3\nb = 0.0\nc = 65\nd = inf\n", "x");
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.whole("a")); }),
                AllOf(HasSubstr("'a': -3"), HasSubstr("give a whole number from 0 on")));
    EXPECT_THAT(
        table_refusal([&] { static_cast<void>(table.number("b", {.least = 0, .above = true})); }),
        AllOf(HasSubstr("'b': 0"), HasSubstr("give a number above 0")));
    EXPECT_EQ(table.number("b", {.least = 0}), 0) << "the bound itself may be allowed";
    EXPECT_THAT(
        table_refusal([&] { static_cast<void>(table.whole("c", {.least = 1, .most = 64})); }),
        HasSubstr("give a number from 1 to 64"));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.number("d")); }),
                HasSubstr("not a finite number"));
}

TEST(TomlTable, SaysWhatIsMissingAndWhere) {
    const TomlTable table = some_table();
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.whole("seed")); }),
                AllOf(HasSubstr("key 'seed' is missing"), HasSubstr("line 1")));
    EXPECT_THAT(table_refusal([&] { static_cast<void>(table.table("below").whole("width")); }),
                AllOf(HasSubstr("key 'below.width' is missing"), HasSubstr("line 9")));
}

TEST(TomlTable, RefusesTheFirstKeyThatNobodyAskedFor) {
    const TomlTable table = TomlTable::parse("steps = 1\nzeta = 2\nrnaks = 4\n", "run.toml");
    EXPECT_EQ(table.whole("steps"), 1U);
    static_cast<void>(table.has("ranks"));
    EXPECT_THAT(table_refusal([&] { table.finish(); }),
                AllOf(HasSubstr("unknown key 'zeta'"), HasSubstr("run.toml, line 2"),
                      HasSubstr("known are: ranks, steps")));
    EXPECT_EQ(table.whole("zeta"), 2U);
    EXPECT_THAT(table_refusal([&] { table.finish(); }),
                AllOf(HasSubstr("unknown key 'rnaks'"), HasSubstr("did you mean 'ranks'?")));
}

TEST(TomlTable, RefusesWhatIsNoToml) {
    EXPECT_THAT(
        table_refusal([] { static_cast<void>(TomlTable::parse("a = 1\nb = \n", "x.toml")); }),
        AllOf(HasSubstr("not valid TOML"), HasSubstr("x.toml, line 2")));
    const test::TempDir dir;
    EXPECT_THAT(
        table_refusal([&] { static_cast<void>(TomlTable::read(dir.path() / "none.toml")); }),
        HasSubstr("none.toml"));
}

TEST(TomlTable, WritesTextsAndNumbersThatComeBack) {
    for (const std::string text :
         {"plain", "with \"quotes\"", "back\\slash", "zwölf", "a\nb", ""}) {
        const TomlTable table = TomlTable::parse("t = " + toml_quoted(text) + "\n", "x");
        EXPECT_EQ(table.text("t"), text);
    }
    for (const double number : {0.1, 1e-9, 1e300, 3.0, -2.5, 123456789.0}) {
        const TomlTable table = TomlTable::parse("n = " + toml_number(number) + "\n", "x");
        EXPECT_EQ(table.number("n"), number);
        EXPECT_THROW(static_cast<void>(table.whole("n")), Error) << toml_number(number);
    }
}

}  // namespace
}  // namespace rudder
