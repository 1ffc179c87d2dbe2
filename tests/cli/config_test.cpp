// Options from TOML and back, without the program around them.
#include "cli/config.hpp"

#include "core/json.hpp"
#include "rudder/core/error.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class Config : public CliTest {
protected:
    Config() : app_("a verb", "verb") {
        app_.add_option("IN", in_);
        app_.add_option("--number", number_)->capture_default_str();
        app_.add_option("--text", text_);
        app_.add_option("--list", list_);
        app_.add_flag("--flag", flag_);
        app_.add_flag("--force", force_);
        app_.add_option("--threads", threads_);
    }

    Words merged(const std::string& toml, Words arguments) {
        cli::merge_config(app_, write("c.toml", toml), arguments);
        return arguments;
    }

    void fails(const std::string& toml, ErrorKind kind, const std::string& word) {
        try {
            static_cast<void>(merged(toml, {}));
            ADD_FAILURE() << "nothing was thrown for " << toml;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), kind) << error.what();
            EXPECT_THAT(error.what(), HasSubstr(word));
            EXPECT_THAT(error.what(), HasSubstr("c.toml, line"));
            EXPECT_FALSE(error.remedy().empty());
        }
    }

    void parse(const Words& arguments) {
        app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    }

    CLI::App app_;
    std::string in_;
    int number_ = 3;
    std::string text_;
    std::vector<std::string> list_;
    bool flag_ = false;
    bool force_ = false;
    int threads_ = 0;
};

TEST_F(Config, AddsWhatIsWrittenAndKeepsWhatIsTyped) {
    EXPECT_EQ(merged("number = 5\n", {"in"}), (Words{"in", "--number=5"}));
    EXPECT_EQ(merged("number = 5\n", {"in", "--number", "7"}), (Words{"in", "--number", "7"}));
    EXPECT_EQ(merged("number = 5\n", {"in", "--number=7"}), (Words{"in", "--number=7"}));
    EXPECT_EQ(merged("number = '5'\ntext = 'a b'\n", {}), (Words{"--number=5", "--text=a b"}));
    EXPECT_EQ(merged("text = 1.5\n", {}), (Words{"--text=1.5"}));
    EXPECT_EQ(merged("", {"in"}), (Words{"in"}));
}

TEST_F(Config, FlagsAndLists) {
    EXPECT_EQ(merged("flag = true\n", {}), (Words{"--flag"}));
    EXPECT_EQ(merged("flag = false\n", {}), Words{});
    EXPECT_EQ(merged("list = ['a', 'b']\n", {}), (Words{"--list=a", "--list=b"}));
    // An option that is given once takes a list as it would be typed.
    EXPECT_EQ(merged("text = [10, 25]\n", {}), (Words{"--text=10,25"}));
}

TEST_F(Config, Refusals) {
    fails("numbr = 5\n", ErrorKind::usage, "did you mean 'number'?");
    fails("\nxyzzy = 5\n", ErrorKind::usage, "line 2");
    fails("help = true\n", ErrorKind::usage, "'help'");
    fails("config = 'x'\n", ErrorKind::usage, "'config'");
    fails("IN = 'x'\n", ErrorKind::usage, "'IN'");
    fails("flag = 1\n", ErrorKind::input, "true or false");
    fails("number = {}\n", ErrorKind::input, "'number'");
    fails("[number]\na = 1\n", ErrorKind::input, "'number'");
    fails("number = = 5\n", ErrorKind::input, "TOML");
    fails("number = 5\nnumber = 6\n", ErrorKind::input, "line 2");
}

TEST_F(Config, ResolvedOptionsHoldDefaultsAndPositions) {
    parse({"file", "--flag", "--list", "a", "--list", "b", "--threads", "2", "--force"});
    const Json json = cli::resolved_options(app_);
    EXPECT_EQ(json, (Json{{"IN", "file"}, {"number", "3"}, {"list", {"a", "b"}}, {"flag", true}}));
}

TEST_F(Config, WhatIsWrittenReadsBackTheSame) {
    parse({"file", "--flag", "--list", "a", "--list", "b", "--text", "x 'y' \"z\" ü\\"});
    const std::string toml = cli::to_toml(app_);
    EXPECT_THAT(toml, testing::Not(HasSubstr("IN")));
    EXPECT_THAT(toml, testing::Not(HasSubstr("threads")));
    EXPECT_THAT(toml, HasSubstr("number = 3\n"));
    EXPECT_THAT(toml, HasSubstr("flag = true\n"));
    EXPECT_THAT(toml, HasSubstr("list = ['a', 'b']\n"));
    const Words again = merged(toml, {"file"});
    parse(again);
    EXPECT_EQ(cli::to_toml(app_), toml);
    EXPECT_EQ(text_, "x 'y' \"z\" ü\\");
    EXPECT_EQ(list_, (Words{"a", "b"}));
}

}  // namespace
}  // namespace rudder::test
