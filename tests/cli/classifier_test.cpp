// Classifiers as a user meets them: agent collect, agent train, and replay with a model.
#include <algorithm>
#include <regex>

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

class ClassifierVerbs : public CliTest {
protected:
    static std::string golden(const std::string& name) {
        return std::string(RUDDER_SOURCE_DIR) + "/tests/data/golden/" + name + ".npz";
    }
    /// Two graphs in one table.
    void collect() {
        ok({"agent", "collect", "physics=" + golden("physics_500"),
            "debian=" + golden("debian_500"), "--policy", "scored-faithful", "--stride", "4",
            "--out", "both"});
    }
};

TEST_F(ClassifierVerbs, CollectTrainAndReplay) {
    collect();
    EXPECT_TRUE(names_in(folder_.path()).contains("both.npz"));
    const Json report =
        ok_json({"agent", "train", "lr", "both.csv", "--test", "physics", "--out", "lr.model"});
    EXPECT_EQ(report.at("test").at("graphs"), Json::array({"physics"}));
    EXPECT_GT(report.at("test").at("samples"), 0);
    EXPECT_GT(report.at("train").at("balanced"), 0.5);
    EXPECT_EQ(report.at("importance").at("by_feature").size(), 26U);
    EXPECT_GE(report.at("test").at("majority"), 0.5);
    EXPECT_GT(report.at("test").at("label_accuracy"), 0);
    const Json lines = ok_json(
        {"replay", golden("physics_500"), "--policy", "scored-faithful", "--agent", "lr:lr.model"});
    EXPECT_EQ(lines[0].at("agent"), "lr:lr.model");
    EXPECT_GT(lines[0].at("decisions"), 0);
}

TEST_F(ClassifierVerbs, BothKindsOfTableMakeTheSameModel) {
    collect();
    ok({"agent", "train", "lr", "both.csv", "--out", "csv.model", "--quiet"});
    ok({"agent", "train", "lr", "both.npz", "--out", "npz.model", "--quiet"});
    // Whatever it costs: the two are compared, not the guard.
    const auto replayed = [&](const char* agent) {
        return ok({"replay", golden("debian_500"), "--policy", "scored-faithful", "--guard", "1000",
                   "--agent", agent});
    };
    EXPECT_EQ(replayed("lr:csv.model"),
              std::regex_replace(replayed("lr:npz.model"), std::regex("npz"), "csv"));
    const std::string whole = bytes_of(folder_ / "both.npz");
    write("cut.npz", whole.substr(0, whole.size() / 2));
    refuse({"agent", "train", "lr", "cut.npz", "--out", "m"}, 3, {"cut.npz"});
}

/// The columns of a table that do not depend on the clock.
std::vector<std::string> timeless(const std::filesystem::path& csv) {
    std::ifstream in(csv);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line.substr(0, line.rfind(',')));  // the last is seconds of a fetch
    std::ranges::sort(lines);
    return lines;
}

TEST_F(ClassifierVerbs, ALiveRunGivesTheSamplesOfItsTrace) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
    ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    const Words run{"--epochs", "4",   "--batch", "20", "--hidden",         "8",
                    "--fanout", "4,6", "--ranks", "2",  "--ranks-per-host", "1"};
    const auto with = [&](Words words) {
        words.insert(words.end(), run.begin(), run.end());
        return words;
    };
    ok(with({"train", "parts", "--policy", "window:4", "--trace", "--out", "run", "--quiet"}));
    ok({"agent", "collect", "g=run", "--policy", "scored-faithful", "--policy", "scored", "--out",
        "traced"});
    ok(with({"agent", "collect", "g=parts", "--policy", "scored-faithful", "--policy", "scored",
             "--out", "live"}));
    const auto live = timeless(folder_ / "live.csv");
    EXPECT_GT(live.size(), 50U);
    EXPECT_EQ(live, timeless(folder_ / "traced.csv"));
    ok({"agent", "train", "lr", "live.npz", "--out", "lr.model"});
    refuse({"agent", "collect", "parts", "run", "--out", "t"}, 2, {"cannot be combined"});
    refuse({"agent", "collect", "parts", "--out", "live"}, 2, {"live.csv"});
    refuse({"agent", "collect", "parts", "--policy", "lru", "--out", "t"}, 2,
           {"takes no decisions"});
    refuse({"agent", "collect", "parts", "--epochs", "1", "--batch", "400", "--out", "t"}, 3,
           {"--horizon"});
}

TEST_F(ClassifierVerbs, ThePublishedVariantUsesItsOwnFeaturesAndLabel) {
    collect();
    const Json report =
        ok_json({"agent", "train", "svm", "both.csv", "--faithful", "--out", "svm.model"});
    EXPECT_EQ(report.at("label"), "paper");
    EXPECT_EQ(report.at("importance").at("by_feature").size(), 9U);
    ok({"replay", golden("physics_500"), "--policy", "scored-faithful", "--agent",
        "svm:svm.model,faithful", "--log", "decisions.jsonl", "--json"});
    const Json score = ok_json({"agent", "score", "decisions.jsonl"})[0];
    EXPECT_GT(score.at("label_accuracy").at("of"), 100);
    EXPECT_NE(ok({"agent", "score", "decisions.jsonl"}).find("label accuracy"), std::string::npos);
    // Published features alone are not enough.
    ok({"agent", "train", "svm", "both.csv", "--faithful", "--label", "counterfactual", "--out",
        "other.model"});
    refuse({"replay", golden("physics_500"), "--policy", "scored-faithful", "--agent",
            "svm:other.model,faithful"},
           2, {"published features and label"});
}

TEST_F(ClassifierVerbs, WhatDoesNotFitIsRefused) {
    collect();
    refuse({"agent", "train", "knn", "both.csv", "--out", "m"}, 2, {"unknown classifier 'knn'"});
    refuse({"agent", "train", "lr", "both.csv", "--test", "npm", "--out", "m"}, 2,
           {"graph 'npm'", "physics, debian"});
    refuse(
        {"agent", "train", "lr", "both.csv", "--test", "physics", "--test", "debian", "--out", "m"},
        3, {"nothing is left to fit to"});
    refuse({"agent", "train", "lr", "both.csv", "--test", "physics", "--ceiling", "--out", "m"}, 3,
           {"one host"});
    refuse({"agent", "train", "lr", golden("debian_500"), "--out", "m"}, 3,
           {"not a table of samples"});
    refuse({"agent", "train", "lr", "both.csv", "--label", "mine", "--out", "m"}, 2, {"'mine'"});
    refuse({"agent", "collect", golden("debian_500"), "--policy", "lru", "--out", "t"}, 2,
           {"takes no decisions"});
    refuse({"agent", "collect", golden("debian_500"), "--out", "both"}, 2, {"both.csv"});
    refuse(
        {"replay", golden("debian_500"), "--policy", "scored-faithful", "--agent", "lr:both.csv"},
        3, {"not a classifier"});
    refuse({"replay", golden("debian_500"), "--policy", "scored-faithful,every:4", "--agent",
            "lr:both.csv"},
           2, {"decides when to replace"});
}

}  // namespace
}  // namespace rudder::test
