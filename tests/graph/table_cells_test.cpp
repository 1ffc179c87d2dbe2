// Cells of tables as what they mean, one kind at a time, and rows of CSV cut from a text.
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>

#include <fmt/format.h>

#include "graph/tables/cells.hpp"
#include "graph/tables/csv_cells.hpp"

#include "tables_support.hpp"

namespace rudder::test {
namespace {

using graph::CellFault;
using graph::CellKind;
using graph::CellReader;
using graph::TableColumn;

/// A batch of one column of texts; a null pointer is a missing cell.
class TextCells {
public:
    explicit TextCells(const std::vector<const char*>& texts) {
        for (const char* text : texts)
            views_.push_back(text == nullptr ? std::string_view() : std::string_view(text));
        column_.texts = views_;
    }
    TextCells(const TextCells&) = delete;
    TextCells& operator=(const TextCells&) = delete;
    [[nodiscard]] CellReader reader() const { return {{views_.size(), {&column_, 1}, nullptr}, 0}; }

private:
    std::vector<std::string_view> views_;
    TableColumn column_;
};

/// What a call says of a cell, which must be a fault.
template <class F>
CellFault cell_fault(F&& f) {
    try {
        f();
    } catch (const CellFault& fault) {
        EXPECT_FALSE(fault.remedy.empty()) << fault.what;
        return fault;
    }
    ADD_FAILURE() << "no fault";
    return {};
}

TEST(TableNumbers, AreThoseOfTheStandardLibrary) {
    std::mt19937_64 random(11);
    for (int i = 0; i < 20000; ++i) {
        const auto mantissa = static_cast<std::int64_t>(random() % 2'000'000) - 1'000'000;
        const int exponent = static_cast<int>(random() % 700) - 350;
        std::string text = fmt::format("{}.{}", mantissa, random() % 1000);
        if (i % 3 != 0) text += fmt::format("{}{}", i % 2 == 0 ? "e" : "E", exponent);
        if (i % 5 == 0 && mantissa >= 0) text.insert(0, "+");
        if (i % 7 == 0) text = "  " + text + " ";
        const double slow = std::strtod(text.c_str(), nullptr);
        const auto fast = graph::parse_number(text);
        ASSERT_TRUE(fast) << text;
        // What is too small for a normal double may be 0; what is too large is infinite.
        if (std::isinf(slow)) {
            ASSERT_TRUE(std::isinf(*fast)) << text;
        } else if (std::abs(slow) >= std::numeric_limits<double>::min()) {
            ASSERT_EQ(*fast, slow) << text;
        } else {
            ASSERT_LE(std::abs(*fast), std::numeric_limits<double>::min()) << text;
        }
    }
}

TEST(TableNumbers, NumbersThatNoDoubleHoldsAreInfiniteOrNothing) {
    const std::string nines(400, '9');
    const std::string zeroes(400, '0');
    const std::vector<std::string> too_large{"1e400",
                                             "1E+400",
                                             nines,
                                             nines + "e-5",
                                             "0.001e400",
                                             "0." + zeroes + "1e800",
                                             nines + ".5E-80",
                                             "1e99999999999999999999"};
    for (const std::string& large : too_large)
        EXPECT_TRUE(std::isinf(graph::parse_number(large).value_or(0))) << large;
    const std::vector<std::string> too_small{"1e-400",
                                             "9.9E-400",
                                             "0." + zeroes + "1",
                                             nines + "e-900",
                                             "-0." + zeroes + "5e+7",
                                             "1e-99999999999999999999"};
    for (const std::string& small : too_small)
        EXPECT_EQ(graph::parse_number(small), 0.0) << small;
}

TEST(TableNumbers, WhatIsNotANumberIsNone) {
    for (const char* none : {"", " ", "+", "-", "+-5", "++5", "--5", "1,5", "1e", "0x10", "1 2",
                             "five", "1.5.2", "\t1"})
        EXPECT_FALSE(graph::parse_number(none)) << none;
    EXPECT_EQ(graph::parse_number("+.5"), 0.5);
    EXPECT_TRUE(std::isnan(graph::parse_number("nan").value_or(0)));
}

TEST(TableNumbers, WordsForMissing) {
    for (const char* word : {"", "NA", "N/A", "na", "NaN", "nan", "null", "NULL", "None"})
        EXPECT_TRUE(graph::means_missing(word)) << word;
    for (const char* word : {"0", "-", "none", "Nan", "N.A.", " ", "missing", "NULLS"})
        EXPECT_FALSE(graph::means_missing(word)) << word;
}

TEST(TableNumbers, ListsInEveryWriting) {
    for (const char* text : {"1;2;3", "1,2,3", "1|2|3", "1 2 3", "[1, 2, 3]", "1\t2\t3",
                             " 1 ; 2 , 3 ", "[ 1;2 | 3 ]", ";1;;2;3;"}) {
        EXPECT_EQ(graph::count_numbers(text), 3U) << text;
        const TextCells cells({text});
        std::array<float, 3> values{};
        EXPECT_TRUE(cells.reader().numbers(0, values)) << text;
        EXPECT_EQ(values, (std::array<float, 3>{1, 2, 3})) << text;
    }
    EXPECT_EQ(graph::count_numbers(""), 0U);
    EXPECT_EQ(graph::count_numbers("[]"), 0U);
}

TEST(TableCells, OfText) {
    const TextCells cells({"1.5", nullptr, "NA", "x", "inf", "-7", "", "1e-400"});
    CellReader reader = cells.reader();
    EXPECT_EQ(reader.number(0), 1.5);
    EXPECT_EQ(reader.number(1), std::nullopt);
    EXPECT_EQ(reader.number(2), std::nullopt);
    EXPECT_EQ(reader.number(6), std::nullopt);
    EXPECT_EQ(reader.number(7), 0.0);
    EXPECT_EQ(reader.integer(5), -7);
    EXPECT_EQ(reader.integer(1), std::nullopt);
    EXPECT_EQ(reader.integer(2), std::nullopt);
    EXPECT_EQ(reader.text(2), "NA") << "a name like any other";
    EXPECT_EQ(reader.text(1), std::nullopt);
    EXPECT_EQ(reader.text(6), std::nullopt);
    const CellFault word = cell_fault([&] { (void)reader.number(3); });
    EXPECT_EQ(word.what, "invalid number: 'x'");
    EXPECT_EQ(word.row, 3U);
    EXPECT_EQ(word.column, 0U);
    EXPECT_EQ(cell_fault([&] { (void)reader.number(4); }).what,
              "invalid number: 'inf' is not finite");
    EXPECT_EQ(cell_fault([&] { (void)reader.integer(0); }).what, "invalid integer: '1.5'");
}

TEST(TableCells, OfIntegersRealsAndLists) {
    const std::vector<std::int64_t> integers{3, std::numeric_limits<std::int64_t>::min()};
    const std::vector<std::uint8_t> missing{1, 0};
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> reals{0.25, nan, std::numeric_limits<double>::infinity(), 1e39};
    const std::array columns{
        TableColumn{.kind = CellKind::integer, .integers = integers, .missing = missing},
        TableColumn{.kind = CellKind::real, .reals = reals},
        TableColumn{.kind = CellKind::list, .reals = reals, .width = 2}};
    const graph::TableBatch batch{2, columns, nullptr};
    CellReader whole(batch, 0);
    EXPECT_EQ(whole.integer(0), std::nullopt);
    EXPECT_EQ(whole.integer(1), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(whole.text(1), "-9223372036854775808");
    EXPECT_EQ(whole.number(1), -0x1p63);
    CellReader real(batch, 1);
    EXPECT_EQ(real.number(0), 0.25);
    EXPECT_EQ(real.number(1), std::nullopt);
    EXPECT_EQ(real.text(0), "0.25");
    EXPECT_EQ(real.text(1), std::nullopt);
    EXPECT_EQ(cell_fault([&] { (void)real.number(2); }).what,
              "invalid number: 'inf' is not finite");
    EXPECT_EQ(cell_fault([&] { (void)real.integer(0); }).what, "invalid integer: '0.25'");
    std::array<float, 2> two{};
    EXPECT_EQ(cell_fault([&] { (void)real.numbers(0, two); }).what,
              "invalid list: a single number");
    const CellReader list(batch, 2);
    EXPECT_EQ(cell_fault([&] { (void)list.numbers(0, two); }).what,
              "a number of the list '0.25;nan' is not finite");
    EXPECT_EQ(cell_fault([&] { (void)list.numbers(1, two); }).column, 2U);
    std::array<float, 3> three{};
    EXPECT_EQ(cell_fault([&] { (void)list.numbers(0, three); }).what,
              "the list '0.25;nan' has 2 numbers, the first of the column 3");
    EXPECT_EQ(cell_fault([&] { (void)list.number(1); }).what, "invalid number: a list");
}

TEST(TableCells, ListsOfText) {
    const TextCells cells({"1;2", nullptr, "NA", "1;2;3", "1;x", "1;1e39", "7"});
    const CellReader reader = cells.reader();
    std::array<float, 2> two{9, 9};
    EXPECT_FALSE(reader.numbers(1, two));
    EXPECT_FALSE(reader.numbers(2, two));
    EXPECT_EQ(two, (std::array<float, 2>{9, 9})) << "what is missing writes nothing";
    EXPECT_EQ(cell_fault([&] { (void)reader.numbers(3, two); }).what,
              "the list '1;2;3' has 3 numbers, the first of the column 2");
    EXPECT_EQ(cell_fault([&] { (void)reader.numbers(4, two); }).what, "invalid number: 'x'");
    EXPECT_EQ(cell_fault([&] { (void)reader.numbers(5, two); }).what,
              "a number of the list '1;1e39' is not finite");
    EXPECT_EQ(cell_fault([&] { (void)reader.numbers(6, two); }).what,
              "the list '7' has 1 numbers, the first of the column 2");
}

TEST(TableCells, LongOnesAreShownCutBetweenCharacters) {
    EXPECT_EQ(graph::shown_cell(std::string(40, 'a')), std::string(40, 'a'));
    EXPECT_EQ(graph::shown_cell(std::string(41, 'a')), std::string(40, 'a') + "...");
    for (std::size_t before = 36; before <= 40; ++before) {
        const std::string text = std::string(before, 'a') + "😀😀";
        const std::string shown = graph::shown_cell(text);
        EXPECT_TRUE(graph::is_utf8(shown)) << before;
        EXPECT_TRUE(shown.ends_with("...")) << before;
        EXPECT_LE(shown.size(), 43U);
        EXPECT_EQ(shown.substr(0, before), std::string(before, 'a'));
    }
}

TEST(CategoryNames, OrderIsThatOfASortedMap) {
    std::mt19937 random(12);
    for (int round = 0; round < 60; ++round) {
        const bool whole = round % 2 == 0;
        graph::NameCodes codes;
        std::map<std::string, std::uint32_t> first_met;
        for (int i = 0; i < 80; ++i) {
            const int number = static_cast<int>(random() % 60) - 20;
            const std::string name = whole ? std::to_string(number) : fmt::format("k{}", number);
            const auto next = static_cast<std::uint32_t>(first_met.size());
            const auto known = first_met.emplace(name, next).first->second;
            ASSERT_EQ(codes.code(name), known);
        }
        std::vector<std::string> sorted;
        for (const auto& [name, code] : first_met)
            sorted.push_back(name);
        if (whole) {
            std::ranges::sort(sorted, {}, [](const std::string& text) { return std::stoi(text); });
        }
        const graph::NameCodes::Order order = codes.order();
        EXPECT_EQ(order.names, sorted);
        for (const auto& [name, code] : first_met)
            EXPECT_EQ(order.names[order.place[code]], name);
    }
    graph::NameCodes mixed;  // one that is not a whole number, and bytes decide
    for (const char* name : {"9", "10", "01"})
        (void)mixed.code(name);
    EXPECT_EQ(mixed.order().names, (std::vector<std::string>{"01", "10", "9"}));
}

TEST(CsvPieces, WantedColumnsAndPlacesOfRows) {
    const std::string text = "\r\n1,\"a\nb\",x\n\n\n2,\"\"\"c\"\"\",\n3,,\"\"\r\n";
    const graph::CsvShape shape{
        .separator = ',', .columns = 3, .places = {graph::CsvShape::unwanted, 1, 0}, .wanted = 2};
    graph::CsvPiece piece;
    for (int again = 0; again < 2; ++again) {  // memory is used again
        piece.split(text, shape);
        ASSERT_EQ(piece.rows(), 3U);
        EXPECT_FALSE(piece.fault());
        EXPECT_EQ(piece.column(0)[0], "x");
        EXPECT_EQ(piece.column(1)[0], "a\nb");
        EXPECT_EQ(piece.column(1)[1], "\"c\"");
        EXPECT_EQ(piece.column(0)[1].data(), nullptr) << "missing";
        EXPECT_EQ(piece.column(1)[2].data(), nullptr) << "missing";
        EXPECT_NE(piece.column(0)[2].data(), nullptr) << "empty, but there";
        EXPECT_EQ(piece.column(0)[2], "");
        EXPECT_EQ(piece.lines_before(0), 1U);
        EXPECT_EQ(piece.lines_before(1), 5U);
        EXPECT_EQ(piece.lines_before(2), 6U);
    }
}

TEST(CsvPieces, StopAtTheFirstRowThatIsNone) {
    graph::CsvPiece piece;
    const graph::CsvShape shape{.separator = ';', .columns = 2, .places = {0, 1}, .wanted = 2};
    const auto fault_line = [&](const std::string& text, std::size_t rows) {
        piece.split(text, shape);
        EXPECT_EQ(piece.rows(), rows) << text;
        EXPECT_EQ(piece.column(0).size(), rows) << "no half row stays";
        EXPECT_EQ(piece.column(1).size(), rows);
        return piece.fault() ? piece.lines_before_fault() : 0;
    };
    EXPECT_EQ(fault_line("1;2\n3;4\n5\n", 2), 2U);
    EXPECT_EQ(fault_line("1;2\n\"3\n\n\";4\n5;6;7\n", 2), 4U);
    EXPECT_EQ(fault_line("1;2\n\n3;\"4\n5;6\n", 1), 2U);
    EXPECT_EQ(fault_line("1;2\n\"a\nb\"c;4\n", 1), 2U) << "where the closing quote is";
    EXPECT_EQ(fault_line("1;2\n3;4", 2), 0U);
    piece.split("1;2;3\n", shape);
    EXPECT_EQ(piece.fault()->what, "the row has 3 cells, the header 2");
    EXPECT_EQ(piece.fault()->offset, 0U);
}

TEST(CsvPieces, TheFirstRowOfAText) {
    std::size_t after = 0;
    EXPECT_EQ(graph::first_row("\n\r\na,\"b,\"\"c\",\r\nrest", ',', after),
              (std::vector<std::string>{"a", "b,\"c", ""}));
    EXPECT_EQ(after, 15U);
    EXPECT_TRUE(graph::first_row("\n\r\n", ',', after).empty());
    EXPECT_EQ(after, 3U);
    EXPECT_THROW((void)graph::first_row("a,b\"c\n", ',', after), graph::RowFault);
}

}  // namespace
}  // namespace rudder::test
