// Presets and --print-config: what is printed is what runs, and reads back the same.
#include <sstream>

#include <toml++/toml.h>

#include "cli/config.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class Presets : public CliTest {
protected:
    std::string printed(Words words) {
        words.insert(words.begin(), {"train"});
        words.emplace_back("--print-config");
        return ok(words);
    }
    static std::string text(const toml::node& node) {
        std::ostringstream out;
        node.visit([&](const auto& value) { out << value; });
        return out.str();
    }
    toml::table table(const Words& words) { return toml::parse(printed(words)); }
};

TEST_F(Presets, AreTheFilesOfTheTree) {
    const auto folder = std::filesystem::path(RUDDER_SOURCE_DIR) / "presets";
    std::set<std::string> names;
    for (const cli::Preset& preset : cli::all_presets()) {
        names.insert(std::string(preset.name) + ".toml");
        EXPECT_EQ(preset.toml, bytes_of(folder / (std::string(preset.name) + ".toml")));
    }
    EXPECT_EQ(names, names_in(folder));
    EXPECT_EQ(names, (std::set<std::string>{"accurate.toml", "large.toml", "quick.toml",
                                            "slow-network.toml"}));
}

TEST_F(Presets, AreValidAndHoldWhatTheySay) {
    for (const cli::Preset& preset : cli::all_presets()) {
        SCOPED_TRACE(preset.name);
        const toml::table given = toml::parse(preset.toml);
        const toml::table resolved = table({"--preset", std::string(preset.name)});
        for (const auto& [key, value] : given) {
            const toml::node* found = resolved.get(key.str());
            ASSERT_NE(found, nullptr) << key.str();
            EXPECT_EQ(text(*found), text(value)) << key.str();
        }
    }
}

TEST_F(Presets, WhatIsPrintedReadsBackTheSame) {
    for (const char* preset : {"quick", "accurate", "slow-network", "large"}) {
        const std::string toml =
            printed({"--preset", preset, "--seed", "7", "--ranks", "2", "--buffer-bytes", "5MB"});
        write("c.toml", toml);
        EXPECT_EQ(printed({"--config", "c.toml"}), toml);
    }
    const std::string plain = printed({});
    write("c.toml", plain);
    EXPECT_EQ(printed({"nowhere", "--config", "c.toml"}), plain);
    EXPECT_EQ(toml::parse(plain)["agent"].value_or(std::string()), "bandit");
    EXPECT_EQ(printed({"--policy", "scored"}).find("bandit"), std::string::npos);
}

TEST_F(Presets, TypedWinsOverConfigWinsOverPreset) {
    write("c.toml", "hidden = 96\nepochs = 4\n");
    const toml::table resolved =
        table({"--preset", "quick", "--config", "c.toml", "--epochs", "5"});
    EXPECT_EQ(resolved["epochs"].value_or(0), 5);
    EXPECT_EQ(resolved["hidden"].value_or(0), 96);
    EXPECT_EQ(resolved["eval"].value_or(std::string()), "sampled");
    EXPECT_EQ(table({"--preset", "quick", "--layers", "3"})["layers"].value_or(0), 3);
    const toml::table sized = table({"--preset", "large", "--buffer-rows", "9"});
    EXPECT_EQ(sized["buffer-rows"].value_or(0), 9);
    EXPECT_FALSE(sized.contains("buffer"));
    write("p.toml", "preset = 'quick'\nhidden = 96\n");
    const toml::table named = table({"--config", "p.toml"});
    EXPECT_EQ(named["epochs"].value_or(0), 3);
    EXPECT_EQ(named["hidden"].value_or(0), 96);
}

TEST_F(Presets, AsJson) {
    const Json json = ok_json({"train", "--preset", "quick", "--print-config"});
    EXPECT_EQ(json.at("verb"), "train");
    EXPECT_EQ(json.at("options").at("epochs"), 3);
    EXPECT_EQ(json.at("options").at("fanout"), (Json{5, 10}));
    EXPECT_EQ(json.at("options").at("residual"), false);
}

TEST_F(Presets, WrongUseIsRefused) {
    refuse({"train", "parts", "--preset", "quik"}, 2,
           {"unknown preset 'quik'", "accurate, large, quick, slow-network"});
    refuse({"train", "--preset", "quick"}, 2, {"PATH"});
    refuse({"train", "--print-config", "--hidden", "0"}, 2, {"--hidden"});
    refuse({"info", "x", "--preset", "quick"}, 2, {"unknown option '--preset'"});
}

TEST_F(Presets, Train) {
    ok({"generate", "sbm", "graph", "--vertices", "400", "--classes", "3"});
    ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    for (const char* preset : {"quick", "accurate", "slow-network", "large"}) {
        const Json summary = ok_json({"train", "parts", "--preset", preset, "--epochs", "2",
                                      "--hidden", "8", "--out", preset});
        EXPECT_EQ(summary.at("epochs"), 2) << preset;
    }
    const std::string config = bytes_of(folder_ / "large/config.toml");
    EXPECT_THAT(config, HasSubstr("topology = 'partitioned'"));
    EXPECT_THAT(config, testing::Not(HasSubstr("preset")));
}

TEST_F(Presets, AConfigurationMayHoldRanks) {
    if (!have_program("mpirun")) GTEST_SKIP() << "there is no mpirun";
    ok({"generate", "sbm", "graph", "--vertices", "400", "--classes", "3"});
    ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    write("c.toml", "ranks = 2\nranks-per-host = 1\nepochs = 1\nhidden = 8\nbatch = 50\n");
    const Json two = ok_json({"train", "parts", "--config", "c.toml", "--out", "run"});
    EXPECT_EQ(two.at("ranks"), 2);
    const Json one = ok_json({"train", "parts", "--config", "c.toml", "--ranks", "1"});
    EXPECT_EQ(one.at("ranks"), 1);
    EXPECT_EQ(one.at("loss").at("digest"), two.at("loss").at("digest"));
    // The command line of the run, as it can be typed again.
    EXPECT_THAT(bytes_of(folder_ / "run/config.toml"), testing::Not(HasSubstr("ranks = ")));
    EXPECT_EQ(ok_json({"evaluate", "run", "--config", write("r.toml", "ranks = 2\n").string()})
                  .at("ranks"),
              2);
    EXPECT_EQ(ok_json({"doctor", "--config", "r.toml"}).at("ranks"), 2);
}

}  // namespace
}  // namespace rudder::test
