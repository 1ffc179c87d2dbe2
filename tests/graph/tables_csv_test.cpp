// CSV against a slow reader that looks at one character at a time.
#include <random>

#include "graph/tables/csv_cells.hpp"
#include "rudder/core/parallel.hpp"

#include "tables_support.hpp"

namespace rudder::test {
namespace {

/// RFC 4180, one character at a time.
std::vector<PlainRow> slow_rows(const std::string& text, char separator) {
    std::vector<PlainRow> rows;
    PlainRow row;
    std::string cell;
    bool was_quoted = false;
    const auto end_cell = [&] {
        row.push_back(cell.empty() && !was_quoted ? std::nullopt : std::optional(cell));
        cell.clear();
        was_quoted = false;
    };
    const auto end_row = [&] {
        if (!was_quoted && cell.ends_with('\r')) cell.pop_back();
        end_cell();
        const bool blank = row.size() == 1 && !row.front();
        if (!blank) rows.push_back(row);
        row.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"' && cell.empty() && !was_quoted) {
            was_quoted = true;
            for (++i; text[i] != '"' || (i + 1 < text.size() && text[i + 1] == '"'); ++i) {
                cell += text[i];
                if (text[i] == '"') ++i;
            }
            if (i + 1 < text.size() && text[i + 1] == '\r') ++i;
        } else if (text[i] == separator) {
            end_cell();
        } else if (text[i] == '\n') {
            end_row();
        } else {
            cell += text[i];
        }
    }
    if (!cell.empty() || was_quoted || !row.empty()) end_row();
    return rows;
}

std::string random_cell(std::mt19937& random, char separator) {
    static const std::vector<std::string> words{
        "a",  "",    "\"", "\n", "\r\n", "ü",   "漢字", " ",
        "42", "-.5", ",",  ";",  "\t",   "x y", "\"\"", "long word in a cell",
        "\r"};
    std::string plain;
    const auto count = random() % 4;
    for (unsigned i = 0; i < count; ++i)
        plain += words[random() % words.size()];
    const std::string special = std::string("\"\n\r") + separator;
    const bool needs = plain.find_first_of(special) != std::string::npos;
    if (!needs && random() % 4 != 0) return plain;
    std::string quoted = "\"";
    for (const char c : plain)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

std::string random_table(std::mt19937& random, std::size_t rows, std::size_t columns,
                         char separator, const std::string& line_end) {
    std::string text;
    for (std::size_t c = 0; c < columns; ++c)
        text += (c == 0 ? std::string() : std::string(1, separator)) + "c" + std::to_string(c);
    for (std::size_t r = 0; r < rows; ++r) {
        text += line_end;
        if (random() % 50 == 0) text += line_end;
        for (std::size_t c = 0; c < columns; ++c) {
            if (c != 0) text += separator;
            text += random_cell(random, separator);
        }
    }
    if (random() % 2 == 0) text += line_end;
    return text;
}

/// Takes rows and keeps none.
class Nothing final : public graph::TableVisitor {
public:
    void begin(std::size_t /*slots*/) override {}
    void batch(std::size_t /*slot*/, const graph::TableBatch& /*batch*/) override {}
    void end() override {}
};

class CsvTables : public TablesTest {
protected:
    void compare(const std::string& text, char separator) {
        std::vector<PlainRow> slow = slow_rows(text, separator);
        slow.erase(slow.begin());
        const graph::Table table({write("t.csv", text)});
        for (const int threads : {1, 2}) {
            set_thread_count(threads);
            CellCollector collector;
            table.walk(table.columns(), collector);
            EXPECT_EQ(collector.rows == slow, true);
            rounds_ = std::max(rounds_, collector.rounds);
        }
        set_thread_count(0);
    }
    int rounds_ = 0;
};

TEST_F(CsvTables, RandomTablesAreReadAsTheSlowReaderReadsThem) {
    std::mt19937 random(7);
    for (int i = 0; i < 150; ++i) {
        const char separator = ",;\t"[i % 3];
        compare(random_table(random, random() % 30, 2 + random() % 5, separator,
                             i % 2 == 0 ? "\n" : "\r\n"),
                separator);
    }
}

TEST_F(CsvTables, QuotedLineEndsAcrossPiecesAndRounds) {
    std::mt19937 random(8);
    std::string text = random_table(random, 45000, 8, ',', "\n");
    // A cell longer than a piece, full of what looks like ends of rows.
    std::string cell;
    for (int i = 0; i < 350000; ++i)
        cell += "x,\"\"y\n";
    text += "\n1,2,3,4,5,6,7,\"" + cell + "\"\n";
    text += random_table(random, 45000, 8, ',', "\n").substr(24);
    compare(text, ',');
    EXPECT_GT(rounds_, 1);
}

TEST_F(CsvTables, HeadersTellTheSeparator) {
    EXPECT_EQ(graph::separator_of("a,b,c"), ',');
    EXPECT_EQ(graph::separator_of("a;b,c;d"), ';');
    EXPECT_EQ(graph::separator_of("a\tb"), '\t');
    EXPECT_EQ(graph::separator_of("\"a,b,c,d\";e"), ';');
    EXPECT_EQ(graph::separator_of("alone"), ',');
    const graph::Table table({write("t.csv", "\xef\xbb\xbf\"id\";\"a \"\"b\"\"\"\r\n1;2\r\n")});
    EXPECT_EQ(table.columns(), (std::vector<std::string>{"id", "a \"b\""}));
}

TEST_F(CsvTables, PackedFilesAndPatterns) {
    write("part-2.csv", "id\nc\n");
    write("part-1.csv.gz", gzip("id\na\n") + gzip("b\n"));
    const graph::Table table(graph::matching_files({"part-*"}, folder_.path()));
    CellCollector collector;
    table.walk({"id"}, collector);
    EXPECT_EQ(collector.rows, (std::vector<PlainRow>{{"a"}, {"b"}, {"c"}}));
    EXPECT_EQ(table.where(2, "id"), (folder_ / "part-2.csv").string() + ", line 2, column 'id'");
    expect_error([&] { static_cast<void>(graph::matching_files({"none-*"}, folder_.path())); },
                 ErrorKind::input, {"none-*", "pattern"});
}

TEST_F(CsvTables, FaultsNameFileAndLine) {
    const auto refused = [&](const std::string& text, std::initializer_list<std::string> words) {
        const auto file = write("t.csv", text);
        expect_error(
            [&] {
                CellCollector collector;
                graph::Table({file}).walk({"a", "b"}, collector);
            },
            ErrorKind::input, words);
    };
    refused("a,b\n1,2\n1,2,3\n", {"t.csv, line 3", "3 cells, the header 2"});
    refused("a,b\n\"1\n\n\",2\n1\n", {"t.csv, line 5", "1 cell,"});
    refused("a,b\n1,2\n1,\"x\n1,2\n", {"t.csv, line 3", "never closed"});
    refused("a,b\n1,5\" pipe\n", {"t.csv, line 2", "inside a cell"});
    refused("a,b\n1,\"x\"y\n", {"t.csv, line 2", "follows the closing quote"});
    refused("a,b\n1,2\n1,\xff\xfe\n", {"t.csv, line 3, column 'b'", "invalid UTF-8", "\\xff\\xfe"});
    refused("a,a\n1,2\n", {"two columns are called 'a'"});
    refused("a,c\n1,2\n", {"missing column 'b'", "its columns are: a, c"});
    refused("", {"empty"});
    refused(
        "\xff\xfe"
        "a",
        {"UTF-16"});
}

TEST_F(CsvTables, TheFirstFaultOfALongFile) {
    std::string text = "a,b\n";
    for (int i = 0; i < 300000; ++i)
        text += "1234567890,1234567890\n";
    const auto file = write("t.csv", text + "1\n1,2,3\n");
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        expect_error(
            [&] {
                Nothing nothing;
                graph::Table({file}).walk({"a"}, nothing);
            },
            ErrorKind::input, {"line 300002", "1 cell,"});
    }
    set_thread_count(0);
}

TEST(Utf8, IsWhatTheStandardSays) {
    for (const char* good : {"", "a", "ü", "漢", "😀", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(graph::is_utf8(good)) << good;
    for (const char* bad : {"\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff",
                            "\xe2\x82", "a\xf0\x9f\x98"})
        EXPECT_FALSE(graph::is_utf8(bad)) << bad;
}

}  // namespace
}  // namespace rudder::test
