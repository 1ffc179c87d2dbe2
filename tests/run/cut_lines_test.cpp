// Files of JSON lines cut back to a step: against a slow version, and with damaged lines.
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "rudder/core/file.hpp"
#include "run/run_folder.hpp"

#include "support/temp_dir.hpp"

namespace rudder::run {
namespace {

using test::TempDir;

/// What is left of `text` when it is cut at `step`.
std::string cut_text(const std::string& text, std::uint64_t step) {
    const TempDir place;
    write_text(place / "lines", text);
    cut_lines(place / "lines", step);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path()), {}), 1);
    return read_text(place / "lines", 1U << 20U);
}

TEST(CutLines, AgreesWithASlowVersionOnRandomFiles) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 60; ++round) {
        const std::uint64_t limit = random() % 30;
        std::string text;
        std::string want;
        for (std::uint64_t i = random() % 40; i > 0; --i) {
            const std::uint64_t step = random() % 30;
            const std::string line = "{\"rank\":" + std::to_string(random() % 4) +
                                     ",\"step\":" + std::to_string(step) + ",\"note\":\"\\n\"}\n";
            text += line;
            if (step < limit) want += line;
        }
        ASSERT_EQ(cut_text(text, limit), want) << round;
    }
}

TEST(CutLines, DropsWhatIsNoLineOfAStep) {
    for (const char* line :
         {"no JSON", "[0]", "0", "null", "{}", "{\"step\":\"0\"}", "{\"step\":-1}",
          "{\"step\":0.5}", "{\"step\":null}", "", "{\"step\":0", "{\"step\":0} x", "\xff\xfe"}) {
        EXPECT_EQ(cut_text("{\"step\":1}\n" + std::string(line) + "\n{\"step\":2}\n", 9),
                  "{\"step\":1}\n{\"step\":2}\n")
            << line;
    }
}

TEST(CutLines, ALineCutShortIsDroppedWherever) {
    const std::string line = "{\"step\":4,\"note\":\"a\"}";
    for (std::size_t size = 0; size < line.size(); ++size)
        ASSERT_EQ(cut_text("{\"step\":3}\n" + line.substr(0, size), 9), "{\"step\":3}\n") << size;
    EXPECT_EQ(cut_text(line, 9), line + "\n") << "it lacks nothing but its end";
    EXPECT_EQ(cut_text(line, 4), "");
}

TEST(CutLines, LinesThatAreMissingAreAddedWhereTheyBelong) {
    const TempDir place;
    const auto line = [](int step, int rank, const std::string& note) {
        return fmt::format("{{\"note\":\"{}\",\"rank\":{},\"step\":{}}}", note, rank, step);
    };
    const std::vector<std::string> more{line(2, 1, "late"), line(3, 0, "late"), "no JSON",
                                        line(5, 0, "late")};
    write_text(place / "lines", line(1, 0, "told") + "\n" + line(3, 0, "told") + "\n" +
                                    line(4, 0, "told") + "\n" + line(9, 0, "dropped") + "\n");
    cut_lines(place / "lines", 6, more);
    const std::string want = line(1, 0, "told") + "\n" + line(2, 1, "late") + "\n" +
                             line(3, 0, "told") + "\n" + line(4, 0, "told") + "\n" +
                             line(5, 0, "late") + "\n";
    EXPECT_EQ(read_text(place / "lines", 1000), want);
    cut_lines(place / "lines", 6, more);
    EXPECT_EQ(read_text(place / "lines", 1000), want) << "once";
    cut_lines(place / "new", 6, std::span(more).first(1));
    EXPECT_EQ(read_text(place / "new", 1000), more[0] + "\n");
}

TEST(CutLines, AFileThatIsNotThereStaysSo) {
    const TempDir place;
    cut_lines(place / "decisions.jsonl", 5);
    EXPECT_TRUE(place.empty());
}

}  // namespace
}  // namespace rudder::run
