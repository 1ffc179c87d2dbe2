// rudder replay as a user and a program see it.
#include "cli_support.hpp"

namespace rudder::test {
namespace {

class Replay : public CliTest {
protected:
    static std::string golden(const std::string& name) {
        return std::string(RUDDER_SOURCE_DIR) + "/tests/data/golden/" + name;
    }
};

TEST_F(Replay, JsonHasTheGoldenFigures) {
    const Json expected = read_json(golden("expected.json")).at("debian_500");
    Words words{"replay", golden("debian_500.npz"), "--buffer", "0.05", "--buffer", "0.25"};
    std::set<std::string> policies;
    for (const Json& row : expected)
        policies.insert(row.at("policy"));
    for (const std::string& policy : policies)
        words.insert(words.end(), {"--policy", policy});
    const Json rows = ok_json(words);
    ASSERT_EQ(rows.size(), expected.size());
    for (const Json& row : rows) {
        std::vector<std::string> keys;
        for (const auto& [key, value] : row.items())
            keys.push_back(key);
        EXPECT_THAT(keys, testing::ElementsAre("policy", "fraction", "capacity", "demand",
                                               "replacement", "ahead", "hits"));
        const auto same = [&](const Json& e) {
            return e.at("policy") == row.at("policy") && e.at("fraction") == row.at("fraction") &&
                   e.at("capacity") == row.at("capacity") && e.at("demand") == row.at("demand") &&
                   e.at("replacement") == row.at("replacement");
        };
        EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), same)) << row.dump();
    }
}

TEST_F(Replay, SizesInRowsAndTheWindowOption) {
    const Json rows =
        ok_json({"replay", golden("debian_500.npz"), "--buffer-rows", "0", "--buffer-rows",
                 "100000000", "--policy", "window", "--policy", "none", "--window", "8"});
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[0].at("policy"), "window:8");
    EXPECT_EQ(rows[0].at("demand"), rows[1].at("demand"));
    EXPECT_EQ(rows[2].at("demand").get<int>() + rows[2].at("ahead").get<int>(), 22934);
    EXPECT_EQ(rows[2].at("capacity"), 100000000);
}

TEST_F(Replay, ATableForPeople) {
    const std::string text = ok({"replay", golden("debian_500.npz")});
    EXPECT_THAT(text, HasSubstr("of optimal"));
    for (const char* policy : {"none", "static-degree", "lru", "periodic", "window:16", "optimal"})
        EXPECT_THAT(text, HasSubstr(policy));
    const std::string list = ok({"replay", "--policies"});
    EXPECT_THAT(list, HasSubstr("SALIENT++"));
    EXPECT_EQ(ok_json({"replay", "--policies"}).size(), 12U);
}

TEST_F(Replay, WhatIsWrongIsRefused) {
    const std::string trace = golden("debian_500.npz");
    refuse({"replay"}, 2, {"no trace"});
    refuse({"replay", trace, "--policy", "window:8", "--window", "16"}, 2,
           {"two different windows", "window:8"});
    refuse({"replay", trace, "--window", "0", "--policy", "window"}, 2, {"invalid window: '0'"});
    refuse({"replay", trace, "--policy", "window:0"}, 2,
           {"invalid value for 'window' of policy 'window': '0'"});
    refuse({"replay", trace, "--policy", "lrru"}, 2, {"unknown policy 'lrru'", "'lru'", "optimal"});
    refuse({"replay", trace, "--policy", "scored,evry:3"}, 2, {"no parameter 'evry'", "every"});
    refuse({"replay", trace, "--policy", "static-vip"}, 2, {"inclusion probabilities"});
    refuse({"replay", trace, "--buffer", "-1"}, 2, {"-1"});
    refuse({"replay", "nothing.npz"}, 3, {"trace not found"});
    write("cut.npz", bytes_of(trace).substr(0, 10000));
    refuse({"replay", "cut.npz"}, 3, {"cut.npz"});
    ok({"generate", "sbm", "graph", "--vertices", "200"});
    refuse({"replay", trace, "--data", "graph"}, 3, {"does not say"});
    refuse({"replay", "graph"}, 3, {"incomplete trace"});
}

}  // namespace
}  // namespace rudder::test
