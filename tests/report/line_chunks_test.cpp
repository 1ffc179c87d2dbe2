// Lines of a file cut into chunks at every awkward place, against a split of the whole text.
#include "report/run/line_chunks.hpp"

#include <mutex>
#include <random>

#include <gmock/gmock.h>

#include "rudder/core/error.hpp"

#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

/// A line as the slow reader sees it.
struct SlowLine {
    std::string text;
    std::uint64_t offset = 0;
    bool whole = true;
    friend bool operator==(const SlowLine&, const SlowLine&) = default;
    friend std::ostream& operator<<(std::ostream& out, const SlowLine& line) {
        return out << line.offset << (line.whole ? ":" : "~") << line.text;
    }
};

std::vector<SlowLine> slow_lines(const std::string& text) {
    std::vector<SlowLine> lines;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = text.find('\n', at);
        const bool whole = end != std::string::npos;
        const std::string line = text.substr(at, whole ? end - at : end);
        if (line.find_first_not_of(" \t\r") != std::string::npos)
            lines.push_back({line, at, whole});
        if (!whole) break;
        at = end + 1;
    }
    return lines;
}

class LineChunksOf : public testing::Test {
protected:
    /// All lines of all chunks, in order of the chunks.
    std::vector<SlowLine> read(const std::string& text, std::uint64_t chunk) {
        test::write_file(file_, text);
        const report::LineChunks chunks{text.size(), chunk};
        std::vector<std::vector<SlowLine>> found(chunks.count());
        report::for_each_chunk(file_, chunks, [&](std::size_t index, report::LineSource& source) {
            source.for_each([&](const report::TextLine& line) {
                // The padding that a parser may read over is there, and zero.
                const char* behind = line.text.data() + line.text.size();
                if (!line.whole) {
                    for (std::size_t i = 0; i < report::line_padding; ++i)
                        EXPECT_EQ(behind[i], 0);
                }
                found.at(index).push_back({std::string(line.text), line.offset, line.whole});
            });
        });
        std::vector<SlowLine> all;
        for (const auto& part : found)
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }

    test::TempDir temp_;
    std::filesystem::path file_ = temp_ / "lines.jsonl";
};

TEST_F(LineChunksOf, EveryBorderOfASmallText) {
    for (const std::string text :
         {"a\nbb\nccc\n", "a\nbb\nccc", "\n\na\n\n\nb\n", "\n", "a", "aaaaaaaaaaaaaaaaaaaaaa\nb\n",
          "a\r\n \t\r\nb\r\n", "a\nb\n\n\n", "   \nx\n   "}) {
        for (std::uint64_t chunk = 1; chunk <= text.size() + 2; ++chunk)
            EXPECT_EQ(read(text, chunk), slow_lines(text)) << text << " by " << chunk;
    }
}

TEST_F(LineChunksOf, RandomTextsByRandomChunks) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 150; ++round) {
        std::string text;
        const std::size_t lines = random() % 30;
        for (std::size_t i = 0; i < lines; ++i) {
            text += std::string(random() % 12, static_cast<char>('a' + random() % 26));
            if (random() % 8 == 0) text += "  ";
            if (random() % 8 == 0) text += '\r';
            text += random() % 9 == 0 ? "\n\n" : "\n";
        }
        if (random() % 2 == 0) text += "cut off";
        EXPECT_EQ(read(text, 1 + random() % (text.size() + 3)), slow_lines(text)) << round;
    }
}

TEST_F(LineChunksOf, ALineLongerThanManyChunksAndPieces) {
    const std::string longest(900'000, 'x');
    const std::string text = "first\n" + longest + "\nlast\n";
    EXPECT_EQ(read(text, 1000), slow_lines(text));
    EXPECT_EQ(read(text, 300'000), slow_lines(text));
    EXPECT_EQ(read(text, text.size()), slow_lines(text));
}

TEST_F(LineChunksOf, ALineOfManyMegabytesIsHandedOverCut) {
    const std::string text = "first\n" + std::string(18U << 20, 'x') + "\nlast\n";
    const auto found = read(text, 4U << 20);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].text, "first");
    EXPECT_FALSE(found[1].whole);
    EXPECT_GE(found[1].text.size(), 16U << 20);
    EXPECT_LT(found[1].text.size(), 18U << 20);
    EXPECT_EQ(found[2].text, "last") << "begins in another chunk";
}

TEST_F(LineChunksOf, AnEmptyFileHasNone) {
    EXPECT_EQ(read("", 5).size(), 0U);
    EXPECT_EQ((report::LineChunks{0, 5}.count()), 0U);
}

TEST_F(LineChunksOf, WhatIsWrittenMeanwhileIsNotLookedAt) {
    test::write_file(file_, "a\nb\nc\nd\n");
    const report::LineChunks chunks{4, 3};  // as it was when its size was asked for
    std::mutex mutex;
    std::vector<std::string> found;
    report::for_each_chunk(file_, chunks, [&](std::size_t, report::LineSource& source) {
        source.for_each([&](const report::TextLine& line) {
            const std::lock_guard lock(mutex);
            found.emplace_back(line.text);
        });
    });
    EXPECT_THAT(found, testing::UnorderedElementsAre("a", "b"));
}

TEST_F(LineChunksOf, AFileThatWasCutMeanwhileJustEnds) {
    test::write_file(file_, "a\nbb");
    const report::LineChunks chunks{100, 100};
    std::vector<SlowLine> found;
    report::for_each_chunk(file_, chunks, [&](std::size_t, report::LineSource& source) {
        source.for_each([&](const report::TextLine& line) {
            found.push_back({std::string(line.text), line.offset, line.whole});
        });
    });
    EXPECT_THAT(found, testing::ElementsAre(SlowLine{"a", 0, true}, SlowLine{"bb", 2, false}));
}

TEST_F(LineChunksOf, ARangeLeavesOutTheLineItBeginsIn) {
    const std::string text = "aaa\nbbb\nccc\nddd\n";
    test::write_file(file_, text);
    for (std::uint64_t begin = 0; begin <= text.size(); ++begin) {
        for (std::uint64_t end = begin; end <= text.size(); ++end) {
            std::vector<SlowLine> found;
            report::for_each_line(file_, begin, end, [&](const report::TextLine& line) {
                found.push_back({std::string(line.text), line.offset, line.whole});
            });
            std::vector<SlowLine> want;
            for (const SlowLine& line : slow_lines(text)) {
                if (line.offset >= begin && line.offset < end) want.push_back(line);
            }
            EXPECT_EQ(found, want) << begin << ".." << end;
        }
    }
}

TEST(LineChunks, DependOnTheSizeAlone) {
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4} << 20, (std::uint64_t{4} << 20) + 1,
          std::uint64_t{10} << 30, std::uint64_t{3} << 40}) {
        const auto chunks = report::LineChunks::of(bytes);
        EXPECT_EQ(chunks.bytes, bytes);
        EXPECT_GE(chunks.chunk, std::uint64_t{4} << 20) << "no small ones";
        EXPECT_LE(chunks.count(), 256U) << "nor many";
        EXPECT_GE(chunks.chunk * chunks.count(), bytes) << "all of it";
    }
    EXPECT_EQ(report::LineChunks::of(4U << 20).count(), 1U);
    EXPECT_EQ(report::LineChunks::of((4U << 20) + 1).count(), 2U);
}

TEST(LineChunks, AFileThatIsNotThereIsRefused) {
    const test::TempDir temp;
    const auto ignore = [](const report::TextLine&) {};
    EXPECT_THROW(report::for_each_line(temp / "absent", 0, 1, ignore), Error);
}

}  // namespace
}  // namespace rudder
