// On a terminal there is a progress bar, which is erased; with --quiet there is none.
#include <fmt/format.h>

#include "core/json.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class Terminal : public CliTest {
protected:
    void SetUp() override {
        if (run({"script", "-qec", "true", "/dev/null"}).code != 0) {
            GTEST_SKIP() << "no working 'script' (util-linux) here, to have a terminal";
        }
    }
    /// Runs on a pseudo-terminal; all it shows.
    std::string shown(const std::string& arguments) {
        const Outcome outcome = run(
            {"script", "-qec", fmt::format("'{}' {}", program().string(), arguments), "/dev/null"},
            here());
        EXPECT_EQ(outcome.code, 0) << outcome.out;
        return outcome.out;
    }
    /// A phase is shown after a tenth of a second; drawing so many edges on one thread takes more.
    const std::string slow = "generate rmat out --vertices 1000000 --degree 16 --threads 1";
    const std::string quick = "generate rmat out --vertices 1000000 --degree 4";
};

TEST_F(Terminal, ShowsAProgressBarAndErasesIt) {
    const std::string text = shown(slow);
    EXPECT_THAT(text, testing::ContainsRegex("edges  \\[=* *\\] +[0-9]+ %"));
    const std::size_t last = text.rfind(" %");
    ASSERT_NE(last, std::string::npos);
    EXPECT_THAT(text.substr(last), testing::StartsWith(" %\r\x1b[K"));
    EXPECT_THAT(text.substr(last), HasSubstr("vertices"));
}

TEST_F(Terminal, QuietShowsNothing) {
    EXPECT_EQ(shown(quick + " --quiet"), "");
}

TEST_F(Terminal, WithAPipedResultTheBarStaysOnTheTerminal) {
    shown(quick + " --json >result.json");
    EXPECT_EQ(read_json(folder_ / "result.json").at("vertices"), 1 << 20);
}

}  // namespace
}  // namespace rudder::test
