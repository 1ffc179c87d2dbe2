// Help that fits a screen, examples that work, and completion in the shells.
#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "cli/config.hpp"
#include "cli/table.hpp"
#include "cli/topics.hpp"
#include "cli/verb.hpp"
#include "rudder/buffer/policy_spec.hpp"
#include "rudder/core/text.hpp"
#include "rudder/steer/agent_spec.hpp"
#include "train/option_table.hpp"

#include "cli_support.hpp"
#include "support/dgl_folder.hpp"

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

    /// What bash completes, words separated by spaces; bash has cut them at ':' and '=' already.
    std::string complete(const std::string& words, int at) {
        return shell(fmt::format("source rudder.bash; COMP_WORDS=({}); COMP_CWORD={}; _rudder; "
                                 "echo \"${{COMPREPLY[*]}}\"",
                                 words, at))
            .out;
    }

    /// In the folder of the test, where 'rudder' is the program.
    [[nodiscard]] RunOptions in_path() const {
        RunOptions options = here();
        options.extra = {
            fmt::format("PATH={}:{}", program().parent_path().string(), std::getenv("PATH"))};
        return options;
    }

    /// Runs a line in bash as a user would type it.
    Outcome shell(const std::string& line) { return run({"bash", "-c", line}, in_path()); }
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
        if (verb == "simulate") {
            write("cluster.toml",
                  "ranks = 4\nsteps = 3\n[graph]\nsource = 'like:arxiv'\nscale = 0.005\n"
                  "method = 'ldg'\n[train]\nbatch = 8\n");
        }
        if (verb == "agent train") {
            EXPECT_TRUE(std::filesystem::exists(folder_ / "samples.csv"));
        }
        if (verb == "import-dgl") DglRing().write(folder_ / "dgl");
        if (verb != "generate" && verb != "import" && verb != "import-dgl") {
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
    EXPECT_EQ(complete("rudder train --model ''", 3), "sage gcn gat gatv2 rgcn\n");
    EXPECT_EQ(complete("rudder train --optimizer = ad", 4), "adam adamw\n");
    EXPECT_EQ(complete("rudder train --eval =", 3), "exact sampled\n");
    EXPECT_EQ(complete("rudder compare x --agent ev", 4), "every\n");
    EXPECT_EQ(complete("rudder import a b --id-bits ''", 5), "32 64\n");
    EXPECT_EQ(complete("rudder generate ''", 2),
              "rmat sbm ba grid typed like:arxiv like:reddit like:yelp like:products like:orkut "
              "like:friendster like:papers100M\n");
    EXPECT_EQ(complete("rudder generate --fe", 2), "--features\n");
    EXPECT_EQ(complete("rudder agent train x", 3), "xgb\n");
    EXPECT_EQ(complete("rudder export graph rudder.b", 3), "rudder.bash\n");
    EXPECT_EQ(complete("rudder help pol", 2), "policies\n");
    for (const cli::Preset& preset : cli::all_presets())
        EXPECT_THAT(complete("rudder train --preset ''", 3), HasSubstr(std::string(preset.name)));
}

// Folders where a folder is asked for, files where a file is, nothing where a number is.
TEST_F(Help, BashCompletesPathsByWhatIsAskedFor) {
    if (!have_program("bash")) GTEST_SKIP() << "no bash here";
    write("rudder.bash", ok({"completion", "bash"}));
    std::filesystem::create_directories(folder_ / "run one");
    write("run.toml", "");
    EXPECT_EQ(complete("rudder train r", 2), "run one\n");
    EXPECT_EQ(complete("rudder train --epochs 3 r", 4), "run one\n");
    EXPECT_EQ(complete("rudder report r", 2), "run one\n");
    EXPECT_EQ(complete("rudder generate sbm r", 3), "run one\n");
    EXPECT_EQ(complete("rudder train parts --out r", 4), "run one\n");
    EXPECT_EQ(complete("rudder evaluate run --data r", 4), "run one\n");
    EXPECT_THAT(complete("rudder train parts --config r", 4), HasSubstr("run.toml"));
    EXPECT_THAT(complete("rudder info r", 2), HasSubstr("run.toml"));
    EXPECT_EQ(complete("rudder train parts --epochs r", 4), "\n");
    EXPECT_EQ(complete("rudder train parts --link r", 4), "\n");
    EXPECT_EQ(complete("rudder train parts --threads = r", 5), "\n");
}

// Those of runs that are named or lie here, and no word that a shell would carry out.
TEST_F(Help, BashCompletesThePoliciesOfRuns) {
    if (!have_program("bash")) GTEST_SKIP() << "no bash here";
    write("rudder.bash", ok({"completion", "bash"}));
    for (const char* name : {"here", "deep/er", "evil", "broken"})
        std::filesystem::create_directories(folder_ / name);
    write("here/run.json", R"({"policy": "window:48,distance:3"})");
    write("deep/er/run.json", R"({"policy": "scored,every:6"})");
    write("evil/run.json", R"json({"policy": "window:1$(touch was-run)"})json");
    write("broken/run.json", "{");
    EXPECT_EQ(ok({"completion", "policies"}), "window:48,distance:3\n");
    EXPECT_EQ(ok({"completion", "policies", "deep/er", "nowhere", ""}),
              "scored,every:6\nwindow:48,distance:3\n");
    EXPECT_EQ(complete("rudder train parts --policy wi", 4), "window window:48,distance:3\n");
    EXPECT_EQ(complete("rudder replay deep/er --buffer 0.1 --policy scored,", 6),
              "scored,every:6\n");
    // The word is cut at ':', and what is completed is its end.
    EXPECT_EQ(complete("rudder train parts --policy window : 4", 6), "48,distance:3\n");
    EXPECT_EQ(complete("rudder train parts --policy window :", 5), "48,distance:3\n");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "was-run"));
}

TEST_F(Help, OfEveryTopicFitsTheScreensWidth) {
    const std::string all = ok({"--help"});
    for (const cli::Topic& topic : cli::all_topics()) {
        SCOPED_TRACE(topic.name);
        EXPECT_THAT(all, HasSubstr(topic.name));
        const std::string text = ok({"help", topic.name});
        EXPECT_EQ(text, topic.name + ": " + topic.summary + "\n\n" + topic.body);
        EXPECT_THAT(text, testing::Not(HasSubstr("<!--")));
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(cli::display_width(line), screen_columns) << line;
        // Where it leads to is there.
        std::istringstream words(text.substr(text.rfind("More: ")));
        for (std::string word; words >> word;) {
            if (!word.starts_with("docs/")) continue;
            word.erase(word.find_last_not_of(".,") + 1);
            EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(RUDDER_SOURCE_DIR) / word))
                << word;
        }
    }
}

// Lists come from the program, so that nothing is missing where something was added.
TEST_F(Help, OfTopicsHasWhatTheProgramKnows) {
    const std::string policies = ok({"help", "policies"});
    for (const buffer::PolicyInfo* info : buffer::all_policies())
        EXPECT_THAT(policies, HasSubstr("\n  " + std::string(info->name) + " "));
    const std::string agents = ok({"help", "agents"});
    for (const steer::AgentInfo* info : steer::all_agents())
        EXPECT_THAT(agents, HasSubstr("\n  " + std::string(info->name) + " "));
    const std::string config = ok({"help", "config"});
    for (const cli::Preset& preset : cli::all_presets())
        EXPECT_THAT(config, HasSubstr(std::string(preset.name)));
}

TEST_F(Help, OfAVerbIsWhatTheVerbPrints) {
    EXPECT_EQ(ok({"help", "train"}), ok({"train", "--help"}));
    EXPECT_EQ(ok({"help", "agent", "score"}), ok({"agent", "score", "--help"}));
    EXPECT_EQ(ok({"help", "agent"}), ok({"agent", "--help"}));
    const Json json = ok_json({"help", "link"});
    EXPECT_EQ(json.at("topic"), "link");
    EXPECT_EQ(json.at("text"), ok({"help", "link"}));
}

TEST_F(Help, OfAnUnknownTopicListsTheKnownOnes) {
    const Outcome outcome = rudder({"help", "politics"}, here());
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("unknown topic 'politics'"));
    for (const std::string& name : cli::topic_names())
        EXPECT_THAT(outcome.err, HasSubstr(name));
}

TEST_F(Help, CompletionWritesItsFilesIntoAFolder) {
    ok({"completion", "fish", "--out", "fish"});
    EXPECT_EQ(names_in(folder_ / "fish"), std::set<std::string>{"rudder.fish"});
    EXPECT_EQ(bytes_of(folder_ / "fish/rudder.fish"), ok({"completion", "fish"}));
    EXPECT_EQ(rudder({"completion", "man", "--out", "fish"}, here()).code, 2);
    ok({"completion", "man", "--out", "fish", "--force"});
    std::set<std::string> pages{"rudder.1"};
    for (std::string verb : verbs()) {
        std::ranges::replace(verb, ' ', '-');
        pages.insert("rudder-" + verb + ".1");
    }
    EXPECT_EQ(names_in(folder_ / "fish"), pages);
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

// Typed into a real zsh: the first TAB of a shell counts, as do spaces in names and '='.
TEST_F(Help, ZshCompletesAsBashDoes) {
    if (!have_program("zsh")) GTEST_SKIP() << "no zsh here";
    ok({"completion", "zsh", "--out", "functions"});
    for (const char* name : {"run one", "here"})
        std::filesystem::create_directories(folder_ / name);
    write("run.toml", "");
    write("here/run.json", R"({"policy": "window:48,distance:3"})");
    using Presses = std::vector<std::string>;  // the line after one TAB, and after another
    const std::vector<std::pair<std::string, Presses>> wanted{
        {"rudder part", {"rudder partition ", ""}},
        {"rudder partition --me", {"rudder partition --method ", ""}},
        {"rudder info --c", {"rudder info --check", "rudder info --config"}},
        {"rudder agent sc", {"rudder agent score ", ""}},
        {"rudder agent score --tr", {"rudder agent score --trace ", ""}},
        {"rudder train --model gat", {"rudder train --model gat", "rudder train --model gatv2"}},
        {"rudder train --optimizer=ad",
         {"rudder train --optimizer=adam", "rudder train --optimizer=adamw"}},
        {"rudder train parts --policy wi",
         {"rudder train parts --policy window",
          "rudder train parts --policy window:48,distance:3"}},
        {"rudder train parts --policy=window:4",
         {"rudder train parts --policy=window:48,distance:3 ", ""}},
        {"rudder generate sb", {"rudder generate sbm ", ""}},
        {"rudder help pol", {"rudder help policies ", ""}},
        {"rudder train r", {"rudder train run\\ one/", ""}},
        {"rudder train parts --out r", {"rudder train parts --out run\\ one/", ""}},
        {"rudder info run.", {"rudder info run.toml ", ""}},
        {"rudder train parts --epochs r", {"rudder train parts --epochs r", ""}},
    };
    Words words{"zsh", "-f", RUDDER_SOURCE_DIR "/tests/cli/complete.zsh",
                (folder_ / "functions").string(), "2"};
    for (const auto& [line, presses] : wanted)
        words.push_back(line);
    const Outcome outcome = run(words, in_path());
    if (outcome.out.starts_with("SKIPPED: ")) GTEST_SKIP() << outcome.out;
    ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    std::istringstream lines(outcome.out);
    for (const auto& [line, presses] : wanted) {
        for (const std::string& press : presses) {
            std::string got;
            std::getline(lines, got);
            EXPECT_TRUE(press.empty() || got == press)
                << "'" << line << "' became '" << got << "', not '" << press << "'";
        }
        std::string end;
        std::getline(lines, end);
        ASSERT_EQ(end, "---") << line;
    }
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
