// Values that no option can mean: refused with what would be right, whatever the verb.
#include <algorithm>
#include <array>
#include <map>

#include "cli/bind_options.hpp"
#include "cli/verb.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

constexpr std::array<const char*, 8> absurd_values{
    "0", "-1", "nan", "inf", "9223372036854775808", "18446744073709551615", "", "text"};

/// Texts with numbers in them, which are read as strictly.
const std::set<std::string> numbers_in_text{
    "--link",        "--policy",          "--agent",  "--checkpoint-every",
    "--lr-schedule", "--features",        "--split",  "--rmat-shares",
    "--balance",     "--metrics-address", "--memory", "--buffer-bytes"};

/// Every number of 64 bits means something to them.
const std::set<std::string> any_number{"--seed"};

/// Commands that work, by verb.
std::map<std::string, Words> working_commands() {
    return {
        {"generate", {"generate", "sbm", "out", "--force", "--vertices", "50"}},
        {"import", {"import", "edges.txt", "out", "--force"}},
        {"partition", {"partition", "graph", "out", "--force", "--method", "ldg", "--parts", "2"}},
        {"train", {"train", "parts", "--epochs", "1", "--hidden", "4", "--batch", "20"}},
        {"compare", {"compare", "parts", "--epochs", "1", "--hidden", "4", "--policy", "window:4"}},
        {"replay", {"replay", "run", "--policy", "window:4", "--buffer", "0.5"}},
        {"agent collect",
         {"agent", "collect", "run", "--out", "made", "--force", "--policy", "scored", "--horizon",
          "2"}},
        {"evaluate", {"evaluate", "run"}},
        {"predict", {"predict", "run", "out.npz", "--force"}},
        {"doctor", {"doctor", "parts"}}};
}

/// The command with an option: instead of the one it has.
Words with_option(Words words, const std::string& option, const std::string& value) {
    const auto has = std::ranges::find(words, option);
    if (has != words.end()) words.erase(has, has + 2);
    words.push_back(option + "=" + value);
    return words;
}

class AbsurdValues : public CliTest {
protected:
    void SetUp() override {
        write("edges.txt", "0 1\n1 2\n");
        ok({"generate", "sbm", "graph", "--vertices", "200", "--seed", "5"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
        ok({"train", "parts", "--epochs", "2", "--hidden", "4", "--out", "run", "--trace",
            "--quiet", "--batch", "20", "--policy", "scored"});
    }

    static std::set<std::string> options_of(std::string_view name) {
        std::set<std::string> options;
        for (const auto& verb : cli::all_verbs()) {
            if (verb->name() != name) continue;
            CLI::App app;
            verb->define(app);
            for (const CLI::Option* option : app.get_options())
                options.insert(option->get_name());
        }
        return options;
    }

    /// Whether the parser takes it. Refusals must say what to do.
    static bool parsed(std::size_t verb_index, const std::string& option,
                       const std::string& value) {
        const auto verb = std::move(cli::all_verbs()[verb_index]);
        CLI::App app;
        verb->define(app);
        for (CLI::Option* each : app.get_options())
            each->required(false);
        std::vector<std::string> words{option + "=" + value};
        try {
            app.parse(words);
            verb->settle();
            return true;
        } catch (const CLI::ParseError&) {
            return false;  // shown with the verb's help
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage) << option << '=' << value << error.what();
            EXPECT_FALSE(error.remedy().empty()) << option << '=' << value << error.what();
            return false;
        }
    }

    /// Whether the program does it.
    bool done(const Words& command) {
        RunOptions options = here();
        options.limit = 20s;
        const Outcome outcome = rudder(command, options);
        EXPECT_EQ(outcome.signal, 0) << testing::PrintToString(command) << outcome.err;
        // Any finite learning rate is one; training says what comes of it.
        const bool diverged =
            outcome.code == 1 && outcome.err.find("lower the learning rate") != std::string::npos;
        EXPECT_TRUE(outcome.code == 0 || outcome.code == 2 || diverged)
            << testing::PrintToString(command) << outcome.err;
        if (outcome.code == 2) {
            EXPECT_THAT(outcome.err, HasSubstr("\n  to do: "));
        }
        return outcome.code == 0 || diverged;
    }

    void expect_answers(std::size_t verb_index, const std::string& option, bool whole,
                        const Words& base) {
        for (const std::string value : absurd_values) {
            const bool text = numbers_in_text.contains(option);
            if (!parsed(verb_index, option, value)) continue;
            if (text && value.empty()) continue;  // the same as leaving it out
            if (!base.empty() && !done(with_option(base, option, value))) continue;
            const bool number = parse_double(value) && value != "nan" && value != "inf";
            EXPECT_TRUE(text || number) << verb_index << ' ' << option << '=' << value;
            if (!whole || (any_number.contains(option) && value != "-1")) continue;
            EXPECT_EQ(value, "0") << verb_index << ' ' << option;
        }
    }
};

TEST_F(AbsurdValues, OfEveryOptionOfEveryVerbAreRefused) {
    const auto verbs = cli::all_verbs();
    const auto commands = working_commands();
    const std::set<std::string> of_train = options_of("train");
    std::size_t options = 0;
    for (std::size_t i = 0; i < verbs.size(); ++i) {
        CLI::App app;
        verbs[i]->define(app);
        for (CLI::Option* option : app.get_options()) {
            if (option->get_lnames().empty()) continue;
            const std::string name = "--" + option->get_lnames().front();
            const SettingKind kind = cli::kind_of(*option);
            const bool numbers = kind == SettingKind::integer || kind == SettingKind::real ||
                                 kind == SettingKind::list;
            if (!numbers && !numbers_in_text.contains(name)) continue;
            const std::string verb(verbs[i]->name());
            if (verb == "import" && name == "--features") continue;  // a file
            const auto base = commands.find(verb);
            // What verbs have in common with train is tried there.
            const bool common = verb != "train" && of_train.contains(name);
            expect_answers(i, name, kind == SettingKind::integer,
                           base == commands.end() || common ? Words{} : base->second);
            ++options;
        }
    }
    EXPECT_GE(options, 60U);
}

TEST_F(AbsurdValues, TheRangeIsSaid) {
    const auto train = [](const std::string& option, const std::string& value) {
        return Words{"train", "parts", "--epochs=1", option + "=" + value};
    };
    refuse(train("--momentum", "2"), 2, {"invalid momentum: '2'", "from 0 to below 1"});
    refuse(train("--in-flight", "18446744073709551615"), 2,
           {"invalid in-flight", "from 1 to 1024"});
    refuse(train("--sample-tasks", "100000"), 2, {"invalid sample-tasks", "from 0 to 1024"});
    refuse(train("--lr", "inf"), 2, {"invalid lr: 'inf'", "above 0"});
    refuse(train("--batch", "18446744073709551615"), 2, {"from 1 to 4294967295"});
    refuse({"train", "parts", "--epochs", "18446744073709551615"}, 2, {"to 1000000000"});
}

}  // namespace
}  // namespace rudder::test
