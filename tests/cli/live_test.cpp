// Training on a terminal: what a person sees while it runs, and what is left afterwards.
#include <csignal>
#include <regex>

#include "cli_support.hpp"
#include "support/mpirun.hpp"
#include "support/terminal.hpp"

namespace rudder::test {
namespace {

class Live : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    /// A run of a few seconds at most.
    static Words training(const std::string& epochs, const Words& more = {}) {
        Words words{program().string(), "train", "parts",    "--epochs", epochs, "--batch", "20",
                    "--hidden",         "64",    "--fanout", "4,6"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    Outcome shown(const Words& command, TerminalOptions options) {
        options.folder = folder_.path();
        Outcome outcome = run_on_terminal(command, options);
        return outcome;
    }
    /// Nothing is left of the view on the screen, and nothing was too wide.
    static std::string settled(const std::string& bytes, std::size_t columns) {
        FakeScreen screen(columns);
        screen.feed(bytes);
        EXPECT_TRUE(screen.unknown().empty()) << testing::PrintToString(screen.unknown());
        const std::string text = screen.text();
        EXPECT_THAT(text, Not(HasSubstr("ETA")));
        EXPECT_THAT(text, Not(HasSubstr("steps/s")));
        return text;
    }
    /// The frames alone: what is drawn between going up and erasing below.
    static void expect_frames_fit(const std::string& bytes, std::size_t columns) {
        FakeScreen screen(columns);
        const std::regex frame("\\x1b\\[[0-9]+A([^]*?)\\x1b\\[J");
        int frames = 0;
        for (auto at = std::sregex_iterator(bytes.begin(), bytes.end(), frame);
             at != std::sregex_iterator(); ++at, ++frames)
            screen.feed((*at)[1].str());
        EXPECT_GT(frames, 0);
        EXPECT_EQ(screen.overflows(), 0);
    }
};

TEST_F(Live, ShowsAViewAndTakesItAway) {
    const Outcome outcome = shown(training("12"), {.columns = 90});
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    for (const char* word : {"epoch 1/12", "ETA ", "loss  ", "rows  ", "MB/s", "waiting for rows "})
        EXPECT_THAT(outcome.out, HasSubstr(word));
    expect_frames_fit(outcome.out, 90);
    const std::string text = settled(outcome.out, 90);
    EXPECT_THAT(text, HasSubstr("epoch 12/12  loss "));
    EXPECT_THAT(text, HasSubstr("accuracy "));
    EXPECT_THAT(text, HasSubstr("to try next"));
    FakeScreen screen(90);
    screen.feed(outcome.out);
    EXPECT_GT(screen.colours(), 0);
}

TEST_F(Live, NarrowWithoutColoursAndWithoutUtf8) {
    const Outcome outcome =
        shown(training("12"), {.columns = 31, .extra = {"NO_COLOR=1", "LANG=C"}});
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    expect_frames_fit(outcome.out, 31);
    settled(outcome.out, 31);
    FakeScreen screen(31);
    screen.feed(outcome.out);
    EXPECT_EQ(screen.colours(), 0);
    EXPECT_TRUE(std::ranges::all_of(outcome.out,
                                    [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

TEST_F(Live, FollowsAResize) {
    // Goes on until enough frames were seen, however fast the machine is.
    constexpr std::size_t enough = 4;
    std::size_t resized_at = 0;
    bool ended = false;
    const auto frames_after = [&](const std::string& bytes) {
        std::size_t frames = 0;
        for (auto at = resized_at; (at = bytes.find("\x1b[J", at)) != std::string::npos; ++at)
            ++frames;
        return frames;
    };
    const Outcome outcome =
        shown(training("100000", {"--eval-every", "0"}),
              {.columns = 120, .watch = [&](const std::string& bytes, int terminal, pid_t program) {
                   if (resized_at == 0) {
                       if (bytes.find("ETA") == std::string::npos) return;
                       resize_terminal(terminal, 40, 24);
                       resized_at = bytes.size();
                   } else if (!ended && frames_after(bytes) > enough) {
                       ended = true;
                       ::kill(program, SIGINT);
                   }
               }});
    EXPECT_EQ(outcome.code, 5) << outcome.out;
    ASSERT_NE(resized_at, 0U);
    // The frame under way when it was resized may be wide still.
    std::string after = outcome.out.substr(resized_at);
    after.erase(0, after.find("\x1b[J"));
    expect_frames_fit(after, 40);
}

TEST_F(Live, IsGoneAfterAnInterrupt) {
    bool sent = false;
    const Outcome outcome =
        shown(training("2000", {"--out", "run"}),
              {.columns = 90, .watch = [&](const std::string& bytes, int, pid_t program) {
                   if (std::exchange(sent, bytes.find("epoch 3/") != std::string::npos) || !sent)
                       return;
                   ::kill(program, SIGINT);
               }});
    EXPECT_EQ(outcome.code, 5) << outcome.out;
    EXPECT_THAT(settled(outcome.out, 90), HasSubstr("interrupted after step"));
}

TEST_F(Live, RanksShowOneViewOnTheTerminalOfWhoStartedThem) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Outcome outcome =
        shown(training("12", {"--ranks", "2", "--ranks-per-host", "1"}), {.columns = 55});
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("hit rate"));
    expect_frames_fit(outcome.out, 55);
    EXPECT_THAT(settled(outcome.out, 55), HasSubstr("to keep it"));
}

TEST_F(Live, CompareNamesTheOneThatRuns) {
    const Outcome outcome =
        shown({program().string(), "compare", "parts", "--epochs", "4", "--batch", "20", "--hidden",
               "64", "--policy", "none", "--policy", "lru"},
              {.columns = 90});
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("lru (2 of 2)"));
    EXPECT_THAT(settled(outcome.out, 90), HasSubstr("All digests are equal"));
}

TEST_F(Live, QuietLeavesALinePerEpochAlone) {
    const Outcome outcome = shown(training("2", {"--quiet"}), {.columns = 90});
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("epoch 1/2  loss "));
    EXPECT_THAT(outcome.out, HasSubstr("epoch 2/2  loss "));
    EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 2) << outcome.out;
    EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST_F(Live, APipeGetsWholeLinesOfRanksToo) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Outcome outcome =
        rudder({"compare", "parts", "--epochs", "1", "--batch", "20", "--hidden", "64", "--fanout",
                "4,6", "--ranks", "2", "--policy", "scored-faithful,every:4"},
               here());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::regex line("scored-faithful,every:4[^\n]* \\(1 of 1\\)  epoch 1/1 [^\n]* s\n");
    EXPECT_TRUE(std::regex_search(outcome.out, line)) << outcome.out;
}

TEST_F(Live, ADumbTerminalOrAPipeGetsALinePerEpoch) {
    const Outcome dumb = shown(training("2"), {.extra = {"TERM=dumb"}});
    EXPECT_EQ(dumb.out.find('\x1b'), std::string::npos);
    EXPECT_THAT(dumb.out, HasSubstr("epoch 2/2  loss "));
    const std::string piped = ok({"train", "parts", "--epochs", "2", "--batch", "40"});
    EXPECT_EQ(piped.find('\x1b'), std::string::npos);
    EXPECT_THAT(piped, HasSubstr("epoch 2/2  loss "));
    EXPECT_LE(std::ranges::count(piped, '\n'), 2 + 20);
}

}  // namespace
}  // namespace rudder::test
