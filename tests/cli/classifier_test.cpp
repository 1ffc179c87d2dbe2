// Classifiers as a user meets them: agent collect, agent train, and replay with a model.
#include "cli_support.hpp"

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
    const Json lines = ok_json(
        {"replay", golden("physics_500"), "--policy", "scored-faithful", "--agent", "lr:lr.model"});
    EXPECT_EQ(lines[0].at("agent"), "lr:lr.model");
    EXPECT_GT(lines[0].at("decisions"), 0);
}

TEST_F(ClassifierVerbs, ThePublishedVariantUsesItsOwnFeaturesAndLabel) {
    collect();
    const Json report =
        ok_json({"agent", "train", "svm", "both.csv", "--faithful", "--out", "svm.model"});
    EXPECT_EQ(report.at("label"), "paper");
    EXPECT_EQ(report.at("importance").at("by_feature").size(), 9U);
    ok({"replay", golden("physics_500"), "--policy", "scored-faithful", "--agent",
        "svm:svm.model,faithful", "--json"});
}

TEST_F(ClassifierVerbs, WhatDoesNotFitIsRefused) {
    collect();
    refuse({"agent", "train", "knn", "both.csv", "--out", "m"}, 2, {"unknown classifier 'knn'"});
    refuse({"agent", "train", "lr", "both.csv", "--test", "npm", "--out", "m"}, 2,
           {"graph 'npm'", "physics, debian"});
    refuse(
        {"agent", "train", "lr", "both.csv", "--test", "physics", "--test", "debian", "--out", "m"},
        3, {"nothing is left to fit to"});
    refuse({"agent", "train", "lr", "both.npz", "--out", "m"}, 3, {"no table of samples"});
    refuse({"agent", "train", "lr", "both.csv", "--label", "mine", "--out", "m"}, 2, {"'mine'"});
    refuse({"agent", "collect", golden("debian_500"), "--policy", "lru", "--out", "t"}, 2,
           {"takes no decisions"});
    refuse({"agent", "collect", golden("debian_500"), "--out", "both"}, 2, {"both.csv"});
    refuse(
        {"replay", golden("debian_500"), "--policy", "scored-faithful", "--agent", "lr:both.csv"},
        3, {"no classifier"});
    refuse({"replay", golden("debian_500"), "--policy", "scored-faithful,every:4", "--agent",
            "lr:both.csv"},
           2, {"says when to replace"});
}

}  // namespace
}  // namespace rudder::test
