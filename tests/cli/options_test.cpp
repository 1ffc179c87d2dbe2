// Tables of options on the command line: every one through TOML and back, for every verb.
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "cli/bind_options.hpp"
#include "cli/config.hpp"
#include "cli/train_settings.hpp"
#include "cli/verb.hpp"
#include "rudder/core/error.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

/// A verb with its parser, as the program has it.
struct Parsed {
    explicit Parsed(std::string_view name) {
        for (auto& each : cli::all_verbs()) {
            if (each->name() == name) verb = std::move(each);
        }
        verb->define(app);
    }
    void parse(const Words& words) {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
        verb->settle();
    }
    std::unique_ptr<cli::Verb> verb;
    CLI::App app;
};

class Options : public CliTest {
protected:
    /// The TOML of what was typed, after it went through a file.
    std::string again(const std::string& toml, const Words& positional) {
        Parsed parsed("train");
        Words words = positional;
        cli::merge_config(parsed.app, write("c.toml", toml), words);
        parsed.parse(words);
        return cli::to_toml(parsed.app, cli::ConfigScope::whole);
    }
};

/// A text that the option takes, other than its default.
std::string example(const SettingInfo& info) {
    if (info.words != nullptr) return std::string(info.words().back());
    switch (info.kind) {
        case SettingKind::integer:
            return "2";
        case SettingKind::real:
            return "0.375";
        case SettingKind::bytes:
            return "64MiB";
        case SettingKind::list:
            return "3,-1";
        default:
            break;
    }
    if (info.name == "lr-schedule") return "step:10,0.5";
    if (info.name == "embeddings") return "author=64,venue=16";
    if (info.name == "negatives") return "degree:3";
    if (info.name == "policy") return "scored";
    if (info.name == "agent") return "every:4";
    if (info.name == "checkpoint-every") return "300s";
    if (info.name == "metrics-address") return "127.0.0.1";
    if (info.name == "link") return "100us,1gbit";
    if (info.name == "slow") return "1:2.5";
    if (info.name == "device") return "cuda:1";
    return "a 'b' \"c\" ü\\";
}

std::vector<const SettingInfo*> every_option() {
    std::vector<const SettingInfo*> all;
    for (const auto& option : train::all_options())
        all.push_back(&option);
    for (const auto& option : cli::rank_options())
        all.push_back(&option);
    for (std::uint8_t group = 0; group < 5; ++group) {
        for (const auto& option : cli::options_of(static_cast<cli::RunGroup>(group)))
            all.push_back(&option);
    }
    return all;
}

TEST_F(Options, EveryOneGoesThroughTomlWithItsType) {
    for (const SettingInfo* info : every_option()) {
        SCOPED_TRACE(info->name);
        const std::string name(info->name);
        Parsed parsed("train");
        Words words{"parts"};
        const bool flag = info->kind == SettingKind::flag;
        words.push_back(flag ? "--" + name : "--" + name + "=" + example(*info));
        // What needs a folder or ranks gets them, and cannot have them twice.
        if (name != "out") words.push_back("--out=run");
        if (name == "restarts") words.push_back("--ranks=2");
        if (name == "link-type") words.push_back("--task=link");
        parsed.parse(words);
        const std::string toml = cli::to_toml(parsed.app, cli::ConfigScope::whole);
        const toml::table table = toml::parse(toml);
        const toml::node* node = table.get(name);
        ASSERT_NE(node, nullptr) << toml;
        EXPECT_EQ(node->is_boolean(), flag);
        EXPECT_EQ(node->is_integer(), info->kind == SettingKind::integer);
        EXPECT_EQ(node->is_floating_point(), info->kind == SettingKind::real);
        EXPECT_EQ(node->is_array(), info->kind == SettingKind::list);
        EXPECT_EQ(again(toml, {"parts"}), toml);
    }
}

TEST_F(Options, FilesThatHoldEveryValueAsTextAreStillRead) {
    Parsed parsed("train");
    parsed.parse({"parts"});
    const Json typed = cli::typed_options(parsed.app, cli::ConfigScope::result);
    std::string old;
    for (const auto& [key, value] : typed.items()) {
        old += key + " = " +
               (value.is_boolean() ? value.dump() : Json(setting_text(value)).dump()) + "\n";
    }
    EXPECT_EQ(again(old, {"parts"}), cli::to_toml(parsed.app, cli::ConfigScope::whole));
}

TEST_F(Options, VerbsTakeTheGroupsTheyWant) {
    const auto has = [](const char* verb, const char* option) {
        return Parsed(verb).app.get_option_no_throw(option) != nullptr;
    };
    for (const char* option : {"--hidden", "--epochs", "--ranks", "--memory", "--precision"}) {
        for (const char* verb : {"train", "compare", "agent collect"})
            EXPECT_TRUE(has(verb, option)) << verb << option;
    }
    EXPECT_TRUE(has("compare", "--trace"));
    for (const char* option : {"--plan", "--resume", "--profile", "--checkpoint-every"}) {
        EXPECT_TRUE(has("train", option)) << option;
        EXPECT_FALSE(has("compare", option)) << option;
        EXPECT_FALSE(has("agent collect", option)) << option;
    }
    EXPECT_FALSE(has("agent collect", "--eval"));
    EXPECT_TRUE(has("replay", "--llm-url"));
    EXPECT_TRUE(has("evaluate", "--memory"));
}

/// Texts that a setting must refuse.
std::vector<std::string> wrong_setting_texts(const SettingInfo& info) {
    if (info.words != nullptr) return {"xyzzy", "", std::string(info.words().front()) + "x"};
    const auto past = [](double bound, double step) { return fmt::format("{}", bound + step); };
    std::vector<std::string> texts;
    if (info.kind == SettingKind::integer || info.kind == SettingKind::real) {
        texts = {"many", "", "nan", "1e999", "3 4", "3x"};
        if (info.limits.most < 1e15) texts.push_back(past(info.limits.most, 1));
        if (info.limits.below) texts.push_back(past(info.limits.most, 0));
        if (info.limits.least > -1e15) texts.push_back(past(info.limits.least, -1));
        if (info.limits.above) texts.push_back(past(info.limits.least, 0));
    }
    if (info.kind == SettingKind::integer)
        texts.insert(texts.end(), {"1.5", "99999999999999999999"});
    if (info.kind == SettingKind::bytes) texts = {"many", "", "-1", "3 parsec", "nan"};
    if (info.kind == SettingKind::list) texts = {"", "a,b", "1,,2", "1;2", "1.5,2", "-2,3"};
    return texts;
}

// Whatever the table says of an option, its parser holds: with the option's name, and what to do.
TEST_F(Options, EveryOneRefusesEveryWrongValue) {
    std::size_t refused = 0;
    for (const SettingInfo* info : every_option()) {
        for (const std::string& text : wrong_setting_texts(*info)) {
            SCOPED_TRACE(fmt::format("--{}={}", info->name, text));
            // The library's own complaint where there is no value at all.
            Parsed parsed("train");
            try {
                parsed.parse({"parts", fmt::format("--{}={}", info->name, text)});
                ADD_FAILURE() << "taken";
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), ErrorKind::usage);
                EXPECT_EQ(error.where(), info->name);
                EXPECT_THAT(error.problem(), HasSubstr(std::string(info->name)));
                EXPECT_FALSE(error.remedy().empty());
            } catch (const CLI::ParseError& error) {
                EXPECT_EQ(text, "") << error.what();
            }
            ++refused;
        }
    }
    EXPECT_GT(refused, 250U);
}

TEST_F(Options, VerbsThatMakeDataRefuseWrongValuesInOurWords) {
    const std::vector<std::pair<Words, std::string>> cases{
        {{"generate", "sbm", "out", "--vertices", "many"}, "invalid vertices: 'many'"},
        {{"generate", "sbm", "out", "--seed", "-1"}, "invalid seed: '-1'"},
        {{"generate", "sbm", "out", "--skew", "nan"}, "invalid skew: 'nan'"},
        {{"import", "a", "out", "--id-bits", "33"}, "unknown id-bits '33'"},
        {{"import", "a", "out", "--id-bits", "x"}, "invalid id-bits: 'x'"},
        {{"import", "a", "out", "--seed", "1.5"}, "invalid seed: '1.5'"},
        {{"partition", "a", "out", "--parts", "two"}, "invalid parts: 'two'"},
        {{"partition", "a", "out", "--parts", "2", "--order", "up"}, "unknown order 'up'"},
        {{"partition", "a", "out", "--parts", "2", "--passes", "x"}, "invalid passes: 'x'"},
        {{"partition", "a", "out", "--parts", "2", "--slack", "half"}, "invalid slack: 'half'"},
    };
    for (const auto& [words, problem] : cases) {
        const std::string option = words[words.size() - 2];
        refuse(words, 2, {problem, "where: " + option + "\n"});
    }
}

TEST_F(Options, OffersAreWordsThatTheOptionTakes) {
    for (const auto& option : train::all_options()) {
        if (option.offers == nullptr) continue;
        EXPECT_EQ(option.words, nullptr) << option.name;
        EXPECT_FALSE(option.offers().empty()) << option.name;
        Parsed parsed("train");
        CLI::Option* bound = parsed.app.get_option("--" + std::string(option.name));
        const auto names = option.offers();
        EXPECT_EQ(cli::offered(*bound), std::vector<std::string>(names.begin(), names.end()));
    }
    Parsed parsed("train");
    EXPECT_TRUE(cli::offered(*parsed.app.get_option("--hidden")).empty());
    EXPECT_EQ(cli::offered(*parsed.app.get_option("--norm")).front(), "none");
}

TEST_F(Options, ErrorsNameTheOptionWithItsDashes) {
    for (const char* word : {"--layers=0", "--lr=-1", "--dropout=1", "--window=0", "--heads=x",
                             "--norm=bach", "--stuck-after=0", "--ranks=0"}) {
        const std::string name(std::string_view(word).substr(0, std::string(word).find('=')));
        refuse({"train", "parts", word}, 2, {"where: " + name + "\n"});
    }
    refuse({"train", "parts", "--hidden", "10", "--model", "gat"}, 2,
           {"hidden (10) is not a multiple of heads (4)", "where: --hidden"});
}

}  // namespace
}  // namespace rudder::test
