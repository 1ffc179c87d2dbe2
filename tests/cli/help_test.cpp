// Help that fits a screen, examples that work, and completion in the shells.
#include <sstream>

#include <fmt/format.h>

#include "cli/config.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "rudder/core/text.hpp"
#include "train/option_table.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

constexpr std::size_t screen_lines = 40;
constexpr std::size_t screen_columns = 100;

class Help : public CliTest {
protected:
    static Words verbs() {
        Words names;
        for (const auto& verb : cli::all_verbs())
            names.emplace_back(verb->name());
        return names;
    }

    /// The words of a verb, as they are typed, and more behind them.
    static Words typed(const std::string& verb, const Words& more) {
        Words words;
        std::istringstream in(verb);
        for (std::string word; in >> word;)
            words.push_back(word);
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }

    static void expect_screen(const std::string& text) {
        std::istringstream lines(text);
        std::size_t count = 0;
        for (std::string line; std::getline(lines, line); ++count)
            EXPECT_LE(cli::display_width(line), screen_columns) << line;
        EXPECT_LE(count, screen_lines);
    }

    static std::filesystem::path golden_trace() {
        return std::filesystem::path(RUDDER_SOURCE_DIR) / "tests/data/golden/debian_500.npz";
    }

    /// Runs a line in bash as a user would type it.
    Outcome shell(const std::string& line) {
        RunOptions options = here();
        options.extra = {
            fmt::format("PATH={}:{}", program().parent_path().string(), std::getenv("PATH"))};
        return run({"bash", "-c", line}, options);
    }
};

TEST_F(Help, OfEveryVerbFitsOneScreen) {
    for (const std::string& verb : verbs()) {
        SCOPED_TRACE(verb);
        const std::string text = ok(typed(verb, {"--help"}));
        expect_screen(text);
        EXPECT_THAT(text, HasSubstr("Usage: rudder " + verb));
        EXPECT_THAT(text, HasSubstr("\nExample:\n  "));
        EXPECT_EQ(ok(typed(verb, {"-h"})), text);
    }
}

TEST_F(Help, TheManualHoldsItWordForWord) {
    const std::string manual =
        bytes_of(std::filesystem::path(RUDDER_SOURCE_DIR) / "docs" / "cli.md");
    for (const std::string& verb : verbs()) {
        std::istringstream lines(ok(typed(verb, {"--help"})));
        std::string indented;
        for (std::string line; std::getline(lines, line);)
            indented += line.empty() ? "\n" : "    " + line + "\n";
        EXPECT_THAT(manual, HasSubstr(indented)) << "paste it into docs/cli.md";
    }
}

TEST_F(Help, OverviewNamesEveryVerb) {
    const std::string text = ok({"--help"});
    expect_screen(text);
    for (const std::string& verb : verbs())
        EXPECT_THAT(text, HasSubstr("\n  " + verb));
    EXPECT_EQ(ok({"help"}), text);
    EXPECT_THAT(ok({"--version"}), testing::MatchesRegex("rudder [0-9]+\\.[0-9]+\\.[0-9]+.*\n"));
}

TEST_F(Help, EveryExampleWorks) {
    for (const std::string& verb : verbs()) {
        const std::string text = ok(typed(verb, {"--help"}));
        std::string example = text.substr(text.find("Example:\n") + 9);
        std::filesystem::remove_all(folder_ / "graph");
        write("edges.txt", "0 1\n1 2\n2 0\n");
        if (verb == "agent score") {
            std::filesystem::remove_all(folder_ / "run");
            std::filesystem::create_directories(folder_ / "run");
            ok({"replay", golden_trace().string(), "--agent", "every:4", "--log",
                "run/decisions.jsonl"});
        }
        if (verb == "replay" || verb == "agent collect")
            write("trace.npz", bytes_of(golden_trace()));
        if (verb == "agent train") {
            EXPECT_TRUE(std::filesystem::exists(folder_ / "samples.csv"));
        }
        if (verb != "generate" && verb != "import") {
            ok({"generate", "sbm", "graph", "--vertices", "200"});
        }
        const Outcome outcome = shell(example);
        EXPECT_EQ(outcome.code, 0) << example << outcome.err;
        EXPECT_EQ(outcome.err, "") << example;
    }
    std::filesystem::remove_all(folder_ / "graph");
    const std::string text = ok({"--help"});
    const Outcome outcome = shell(text.substr(text.find("Example:\n") + 9));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(Help, BashCompletesVerbsAndOptions) {
    if (!have_program("bash")) GTEST_SKIP() << "no bash here";
    write("rudder.bash", ok({"completion", "bash"}));
    EXPECT_EQ(run({"bash", "-n", (folder_ / "rudder.bash").string()}).code, 0);
    const auto complete = [&](const std::string& words, int at) {
        return shell(fmt::format("source rudder.bash; COMP_WORDS=({}); COMP_CWORD={}; _rudder; "
                                 "echo \"${{COMPREPLY[*]}}\"",
                                 words, at))
            .out;
    };
    EXPECT_EQ(complete("rudder part", 1), "partition\n");
    EXPECT_EQ(complete("rudder partition --me", 2), "--method\n");
    EXPECT_EQ(complete("rudder info --c", 2), "--check --config\n");
    EXPECT_EQ(complete("rudder info rudder.b", 2), "rudder.bash\n");
    write("a name with spaces", "");
    EXPECT_EQ(complete("rudder info a", 2), "a name with spaces\n");
    for (const std::string& verb : verbs())
        EXPECT_THAT(complete("rudder ''", 1), HasSubstr(typed(verb, {}).front()));
    EXPECT_EQ(complete("rudder agent sc", 2), "score\n");
    EXPECT_EQ(complete("rudder agent score --tr", 3), "--trace\n");
    // Words of options and of a verb's first argument; files where there are none.
    EXPECT_EQ(complete("rudder train parts --policy w", 4), "window\n");
    EXPECT_EQ(complete("rudder train --model ''", 3), "sage gcn gat gatv2\n");
    EXPECT_EQ(complete("rudder train --optimizer = ad", 4), "adam adamw\n");
    EXPECT_EQ(complete("rudder train --eval =", 3), "exact sampled\n");
    EXPECT_EQ(complete("rudder compare x --agent ev", 4), "every\n");
    EXPECT_EQ(complete("rudder import a b --id-bits ''", 5), "32 64\n");
    EXPECT_EQ(complete("rudder generate ''", 2), "rmat sbm ba grid\n");
    EXPECT_EQ(complete("rudder generate --fe", 2), "--features\n");
    EXPECT_EQ(complete("rudder agent train x", 3), "xgb\n");
    EXPECT_EQ(complete("rudder generate sbm rudder.b", 3), "rudder.bash\n");
    EXPECT_EQ(complete("rudder train --out rudder.b", 3), "rudder.bash\n");
    for (const cli::Preset& preset : cli::all_presets())
        EXPECT_THAT(complete("rudder train --preset ''", 3), HasSubstr(std::string(preset.name)));
}

// Whatever a table lists, the shells offer.
TEST_F(Help, CompletionHasTheWordsOfEveryTable) {
    const std::string bash = ok({"completion", "bash"});
    const std::string zsh = ok({"completion", "zsh"});
    const std::string fish = ok({"completion", "fish"});
    std::size_t with_words = 0;
    for (const auto& option : train::all_options()) {
        const auto names = option.words != nullptr ? option.words : option.offers;
        if (names == nullptr) continue;
        ++with_words;
        const std::string words = join(names(), " ");
        EXPECT_THAT(bash, HasSubstr(fmt::format("--{}) values=\"{}\"", option.name, words)));
        EXPECT_THAT(zsh, HasSubstr(fmt::format("--{}) values=({})", option.name, words)));
        EXPECT_THAT(fish, HasSubstr(fmt::format("-l {} -x -a '{}'", option.name, words)));
    }
    EXPECT_GE(with_words, 16U);
}

TEST_F(Help, ZshAndFishCompletionsParse) {
    EXPECT_THAT(ok({"completion", "zsh"}), testing::StartsWith("#compdef rudder"));
    EXPECT_THAT(ok({"completion", "fish"}), HasSubstr("complete -c rudder"));
    for (const char* shell : {"zsh", "fish"}) {
        if (!have_program(shell)) continue;
        const auto file = write(shell, ok({"completion", shell}));
        EXPECT_EQ(run({shell, "-n", file.string()}).code, 0) << shell;
    }
}

}  // namespace
}  // namespace rudder::test
