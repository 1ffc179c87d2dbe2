// The real graphs beside the project, where they are, at the command line.
#include "core/json.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class CliSharedData : public CliTest {
protected:
    void SetUp() override {
        if (shared_folder().empty()) GTEST_SKIP() << "no folder of shared graphs here";
    }

    /// Imports a file with all its edges as they are and expects the counts of the table.
    void counts(const std::string& file, std::uint64_t vertices, std::uint64_t edges,
                std::uint64_t width, std::uint64_t classes) {
        const Json info = ok_json({"import", (shared_folder() / "data" / file).string(), "d",
                                   "--directed", "--keep-self-loops", "--keep-duplicates"});
        EXPECT_EQ(info.at("vertices"), vertices);
        EXPECT_EQ(info.at("edges"), edges);
        EXPECT_EQ(info.at("features").is_null() ? 0 : info.at("features").at("width").get<int>(),
                  static_cast<int>(width));
        EXPECT_EQ(info.at("classes"), classes);
    }
};

TEST_F(CliSharedData, Cora) {
    counts("cora.npz", 2708, 5278, 1433, 7);
}
TEST_F(CliSharedData, Citeseer) {
    counts("citeseer.npz", 3327, 4552, 3703, 6);
}
TEST_F(CliSharedData, AmazonComputers) {
    counts("amazon_cs.npz", 13752, 245861, 767, 10);
}
TEST_F(CliSharedData, DebianPackages) {
    counts("debian_bookworm.npz", 63620, 333407, 128, 58);
}
TEST_F(CliSharedData, NpmPackages) {
    counts("npm_deps.npz", 304031, 926384 + 1419123, 0, 40);
}
TEST_F(CliSharedData, MusaeGithub) {
    counts("musae_github.npz", 37700, 289003, 4005, 2);
}

TEST_F(CliSharedData, TheTimeSeriesIsRefused) {
    refuse({"import", (shared_folder() / "data/danube_aligned.npz").string(), "d"}, 3,
           {"danube_aligned.npz", "no edges"});
}

using LongCliSharedData = CliSharedData;

TEST_F(LongCliSharedData, CoauthorPhysics) {
    counts("coauthor_phy.npz", 34493, 247962, 8415, 5);
}

TEST_F(LongCliSharedData, NpmIsImportedPartitionedAndChecked) {
    ok({"import", (shared_folder() / "data/npm_deps.npz").string(), "d"});
    const Json parts = ok_json({"partition", "d", "p", "--parts", "4"});
    EXPECT_EQ(parts.at("parts"), 4);
    EXPECT_EQ(parts.at("vertices"), 304031);
    EXPECT_LE(parts.at("cut").get<double>(), 0.37);
    EXPECT_LE(parts.at("balance").get<double>(), 1.05);
    EXPECT_LE(parts.at("train_balance").get<double>(), 1.05);
    EXPECT_EQ(parts.at("halo").size(), 4U);
    const Json info = ok_json({"info", "p", "--check"});
    EXPECT_EQ(info.at("cut"), parts.at("cut"));
    EXPECT_EQ(info.at("checked"), true);
}

}  // namespace
}  // namespace rudder::test
