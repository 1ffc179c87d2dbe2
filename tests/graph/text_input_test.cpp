// Words, numbers and lines of text files against the standard library's own, at awkward places.
#include "graph/io/text_input.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "graph/io/edge_blocks.hpp"
#include "rudder/core/parallel.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using graph::LineCursor;
using graph::LineFault;

/// What a cursor complains of, as "message @column".
template <class Body>
std::string fault_of(Body&& body) {
    try {
        body();
    } catch (const LineFault& fault) {
        EXPECT_FALSE(fault.remedy.empty());
        return fmt::format("{} @{}", fault.what, fault.column);
    }
    return "none";
}

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    for (LineCursor cursor(line); !cursor.done();)
        words.emplace_back(cursor.word());
    return words;
}

TEST(LineCursor, SplitsAtEverySeparator) {
    using testing::ElementsAre;
    EXPECT_THAT(words_of("a b\tc,d;e\r"), ElementsAre("a", "b", "c", "d", "e"));
    EXPECT_THAT(words_of("  ,;a,,b  \r"), ElementsAre("a", "b"));
    EXPECT_THAT(words_of(""), ElementsAre());
    EXPECT_THAT(words_of(" \t\r"), ElementsAre());
    EXPECT_THAT(words_of("one"), ElementsAre("one"));
}

TEST(LineCursor, RandomLinesAsASlowSplitterSeesThem) {
    std::mt19937_64 random(1);
    const std::string letters = "ab1 \t,;\r-.";
    for (int round = 0; round < 500; ++round) {
        std::string line(random() % 20, ' ');
        for (char& c : line)
            c = letters[random() % letters.size()];
        std::vector<std::string> slow(1);
        for (const char c : line) {
            if (std::string_view(" \t,;\r").find(c) != std::string_view::npos) {
                if (!slow.back().empty()) slow.emplace_back();
            } else {
                slow.back() += c;
            }
        }
        if (slow.back().empty()) slow.pop_back();
        EXPECT_EQ(words_of(line), slow) << line;
    }
}

TEST(LineCursor, IdsAreWholeNumbersOf63Bits) {
    const auto id = [](std::string_view text) { return LineCursor(text).id(); };
    EXPECT_EQ(id("0"), 0U);
    EXPECT_EQ(id("007"), 7U);
    EXPECT_EQ(id("9223372036854775807"), (std::uint64_t{1} << 63) - 1);
    const auto refused = [&](std::string_view text) {
        return fault_of([&] { (void)LineCursor(text).id(); });
    };
    EXPECT_EQ(refused("9223372036854775808"), "9223372036854775808 does not fit 63 bits @1");
    EXPECT_EQ(refused("99999999999999999999999"),
              "99999999999999999999999 does not fit 63 bits @1");
    EXPECT_EQ(refused("  -3"), "id -3 is negative @3");
    EXPECT_EQ(refused("-"), "invalid integer: '-' @1");
    EXPECT_EQ(refused("+3"), "invalid integer: '+3' @1");
    EXPECT_EQ(refused("1.0"), "invalid integer: '1.0' @1");
    EXPECT_EQ(refused("0x10"), "invalid integer: '0x10' @1");
    EXPECT_EQ(refused(""), "the line ends where a number is expected @1");
    EXPECT_EQ(refused(std::string(50, 'z')),
              "invalid integer: '" + std::string(40, 'z') + "...' @1");
    EXPECT_EQ(fault_of([] {
                  LineCursor cursor("1, 22 ,x");
                  EXPECT_EQ(cursor.id(), 1U);
                  EXPECT_EQ(cursor.id(), 22U);
                  (void)cursor.id();
              }),
              "invalid integer: 'x' @8");
}

TEST(LineCursor, NumbersAreThoseOfTheStandardLibrary) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 3000; ++round) {
        const double value = std::ldexp(static_cast<double>(random()) - 9e18,
                                        static_cast<int>(random() % 200) - 130);
        const std::string text = round % 3 == 0   ? fmt::format("{}", value)
                                 : round % 3 == 1 ? fmt::format("{:.3e}", value)
                                                  : fmt::format("{:.5f}", value);
        EXPECT_EQ(LineCursor(text).number(), std::strtod(text.c_str(), nullptr)) << text;
    }
    EXPECT_EQ(LineCursor("+2.5").number(), 2.5);
    EXPECT_TRUE(std::isnan(LineCursor("nan").number()));
    EXPECT_TRUE(std::isinf(LineCursor("-inf").number()));
    EXPECT_NEAR(LineCursor("1e-400").number(), 0, 1e-300) << "too small is 0";
    const auto refused = [](std::string_view text) {
        return fault_of([&] { (void)LineCursor(text).number(); });
    };
    EXPECT_EQ(refused("1e400"), "'1e400' is too large @1");
    EXPECT_EQ(refused("abc"), "invalid number: 'abc' @1");
    EXPECT_EQ(refused("1.5x"), "invalid number: '1.5x' @1");
    EXPECT_EQ(refused("+"), "invalid number: '+' @1");
}

TEST(TextInput, CommentsAndBlanks) {
    for (const char* line : {"", " ", "\t\r", "# x", "  # x", "% y", "\t%"})
        EXPECT_TRUE(graph::blank_or_comment(line)) << line;
    for (const char* line : {"0 1", " 0 # 1", "x"})
        EXPECT_FALSE(graph::blank_or_comment(line)) << line;
}

class TextInputOf : public testing::Test {
protected:
    graph::TextInput open(const std::string& text) {
        std::ofstream(file_, std::ios::binary) << text;
        return graph::TextInput(file_);
    }
    static std::vector<std::string> slow_lines(const std::string& text) {
        std::vector<std::string> lines;
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);)
            lines.push_back(line);
        return lines;
    }
    /// All lines by `parse`, in order.
    static std::vector<std::string> parsed(graph::TextInput& input) {
        std::vector<std::string> all;
        std::vector<std::vector<std::string>> pieces;
        input.parse(
            [&](std::size_t count) { pieces.assign(count, {}); },
            [&](std::size_t piece, std::string_view line) { pieces.at(piece).emplace_back(line); },
            [&] {
                for (const auto& piece : pieces)
                    all.insert(all.end(), piece.begin(), piece.end());
            },
            Progress::none());
        return all;
    }
    TempDir temp_;
    std::filesystem::path file_ = temp_ / "text.txt";
};

TEST_F(TextInputOf, GivesTheLinesOfSmallTexts) {
    for (const std::string text : {"", "\n", "a", "a\n", "a\nb", "\n\na\n\n", "a\r\nb\r\n"}) {
        graph::TextInput input = open(text);
        EXPECT_EQ(parsed(input), slow_lines(text)) << text;
    }
}

TEST_F(TextInputOf, PeeksBeforeItParses) {
    graph::TextInput input = open("head\nsecond\nthird\n");
    EXPECT_EQ(input.peek_line(), "head");
    EXPECT_EQ(input.peek_line(), "head") << "peeking takes nothing";
    EXPECT_THAT(input.where(), testing::EndsWith("text.txt, line 1"));
    input.take_line();
    EXPECT_EQ(input.peek_line(), "second");
    EXPECT_THAT(input.where(), testing::EndsWith("text.txt, line 2"));
    EXPECT_THAT(parsed(input), testing::ElementsAre("second", "third"));
    EXPECT_EQ(input.peek_line(), std::nullopt);
}

TEST_F(TextInputOf, LongTextsInManyPiecesOnAnyNumberOfThreads) {
    std::mt19937_64 random(3);
    std::string text;
    while (text.size() < (std::size_t{9} << 20)) {
        // Some lines are longer than a piece is expected to be.
        const std::size_t length = random() % 3000 == 0 ? (1U << 20) + 17 : random() % 200;
        text += std::string(length, static_cast<char>('a' + random() % 26)) + "\n";
    }
    text += "the end";
    const auto want = slow_lines(text);
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        graph::TextInput input = open(text);
        EXPECT_TRUE(parsed(input) == want) << threads;
    }
    set_thread_count(0);
}

TEST_F(TextInputOf, TheFirstFaultOfManyPiecesIsNamed) {
    std::string text;
    std::size_t lines = 0;
    for (; text.size() < (std::size_t{5} << 20); ++lines)
        text += fmt::format("{} {}\n", lines, lines * 7);
    const std::size_t bad = lines / 2;
    text += "x\n";
    graph::TextInput input = open("head\n" + text);
    EXPECT_EQ(input.peek_line(), "head");
    input.take_line();
    const Refusal refusal = refusal_of([&] {
        (void)input.parse([](std::size_t) {},
                          [&](std::size_t, std::string_view line) {
                              LineCursor cursor(line);
                              const auto number = cursor.id();
                              if (number >= bad) throw cursor.fault("too many", "stop");
                          },
                          [] {}, Progress::none());
    });
    EXPECT_EQ(refusal.problem, "too many");
    EXPECT_THAT(refusal.where, testing::EndsWith(fmt::format("line {}, column 1", bad + 2)));
}

TEST(EdgeBlocks, WidenOnlyWhenAnIdNeedsIt) {
    graph::EdgeBlock block;
    block.add(1, 2);
    block.add(0xffffffffU, 0);
    EXPECT_EQ(block.narrow.size(), 2U);
    EXPECT_EQ(block.bound, VertexId{1} << 32);
    block.add(VertexId{1} << 32, 3);
    block.add(4, 5);
    EXPECT_EQ(block.narrow.size(), 2U);
    EXPECT_EQ(block.wide.size(), 2U) << "once wide, the rest is";
    EXPECT_EQ(block.bound, (VertexId{1} << 32) + 1);
    std::vector<graph::EdgeBlock> blocks;
    blocks.push_back(block);
    blocks.emplace_back();
    EXPECT_EQ(graph::bound_of(blocks), (VertexId{1} << 32) + 1);
    const graph::EdgeBlocks source((VertexId{1} << 32) + 1, blocks);
    EXPECT_EQ(source.edges(), 4U);
    EdgeIndex walked = 0;
    source.walk([&](std::span<const graph::NarrowEdge> edges) { walked += edges.size(); },
                [&](std::span<const graph::Edge> edges) { walked += edges.size(); });
    EXPECT_EQ(walked, 4U);
}

}  // namespace
}  // namespace rudder::test
