// Tables for people.
#include "cli/table.hpp"

#include <gtest/gtest.h>

namespace rudder::cli {
namespace {

TEST(Table, NumbersStandToTheRightTextToTheLeft) {
    cli::Table table({"name", "rows", "cut"});
    table.add({"a", "7", "1.5 %"});
    table.add({"longer", "1,200", "22.0 %"});
    EXPECT_EQ(table.text(),
              "name     rows     cut\n"
              "------  -----  ------\n"
              "a           7   1.5 %\n"
              "longer  1,200  22.0 %\n");
}

TEST(Table, ADashIsAMissingNumber) {
    cli::Table table({"what", "parts"});
    table.add({"x", "-"});
    table.add({"y", "12"});
    EXPECT_EQ(table.text(),
              "what  parts\n"
              "----  -----\n"
              "x         -\n"
              "y        12\n");
}

TEST(Table, LinesHaveNoBlanksAtTheirEnds) {
    cli::Table table({"a", "b"});
    table.add({"1", "x"});
    table.add({"2", "long text"});
    EXPECT_EQ(table.text(), "a  b\n-  ---------\n1  x\n2  long text\n");
}

TEST(Table, AHeaderAlone) {
    EXPECT_EQ(cli::Table({"a", "bc"}).text(), "a  bc\n-  --\n");
}

TEST(Table, NonAsciiLettersTakeOneColumn) {
    EXPECT_EQ(cli::display_width("Grüße"), 5U);
    EXPECT_EQ(cli::display_width("中文"), 2U);
    EXPECT_EQ(cli::display_width(""), 0U);
    cli::Table table({"n", "v"});
    table.add({"ß", "x"});
    table.add({"ab", "y"});
    EXPECT_EQ(table.text(), "n   v\n--  -\nß   x\nab  y\n");
}

TEST(KeyValues, ValuesStandUnderEachOther) {
    EXPECT_EQ(cli::key_values({{"a", "1"}, {"größe", "x y"}}), "a      1\ngröße  x y\n");
    EXPECT_EQ(cli::key_values({}), "");
}

}  // namespace
}  // namespace rudder::cli
