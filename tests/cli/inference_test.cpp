// Trained networks in use, as a user sees it: exact scores, predictions, refusals.
#include <fmt/format.h>

#include "rudder/graph/io/npz.hpp"

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

class UseOfRuns : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "4", "--method", "ldg"});
        ok({"train", "parts", "--epochs", "2", "--batch", "40", "--hidden", "16", "--fanout", "4,6",
            "--out", "run", "--quiet"});
    }
};

TEST_F(UseOfRuns, EvaluateScoresAllSets) {
    const Json found = ok_json({"evaluate", "run"});
    for (const char* set : {"train", "valid", "test"}) {
        EXPECT_GT(found.at("accuracy").at(set).get<double>(), 0.1) << set;
        EXPECT_GT(found.at("loss").at(set).get<double>(), 0) << set;
        EXPECT_GT(found.at("vertices").at(set).get<int>(), 0) << set;
    }
    EXPECT_THAT(found.at("checkpoint").get<std::string>(), HasSubstr("run"));
    EXPECT_GT(found.at("step").get<int>(), 0);
    EXPECT_TRUE(found.at("seconds").is_number());
    const std::string text = ok({"evaluate", "run"});
    EXPECT_THAT(text, HasSubstr("accuracy"));
    EXPECT_THAT(text, HasSubstr("valid"));
    EXPECT_EQ(ok({"evaluate", "run", "--quiet"}), "");
}

TEST_F(UseOfRuns, TheSameOnAnyRanksAndMemory) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Json alone = ok_json({"evaluate", "run"});
    for (const char* ranks : {"2", "4"}) {
        const Json found = ok_json(
            {"evaluate", "run", "--ranks", ranks, "--ranks-per-host", "1", "--memory", "1m"});
        EXPECT_EQ(found.at("accuracy"), alone.at("accuracy"));
        EXPECT_EQ(found.at("loss"), alone.at("loss"));
    }
    ok({"predict", "run", "one.npz", "--embeddings"});
    ok({"predict", "run", "four.npz", "--embeddings", "--ranks", "4"});
    EXPECT_EQ(bytes_of(folder_ / "four.npz"), bytes_of(folder_ / "one.npz"));
}

TEST_F(UseOfRuns, PredictWritesAnArchive) {
    const Json said = ok_json({"predict", "run", "out.npz"});
    EXPECT_EQ(said.at("bytes"), std::filesystem::file_size(folder_ / "out.npz"));
    EXPECT_EQ(said.at("accuracy"), ok_json({"evaluate", "run"}).at("accuracy"));
    EXPECT_EQ(NpzArchive(folder_ / "out.npz").names(),
              (std::vector<std::string>{"class", "scores"}));
    refuse({"predict", "run", "out.npz"}, 2, {"out.npz", "--force"});
    ok({"predict", "run", "out.npz", "--force", "--embeddings"});
    EXPECT_EQ(NpzArchive(folder_ / "out.npz").names(),
              (std::vector<std::string>{"class", "embedding", "scores"}));
}

TEST_F(UseOfRuns, WrongUseIsRefused) {
    refuse({"evaluate", "run", "--memory", "12parsec"}, 2, {"12parsec", "8GiB"});
    refuse({"evaluate", "run", "--memory", "1k"}, 2, {"needs at least", "--memory"});
    refuse({"evaluate", "run", "--ranks", "3"}, 2, {"3 ranks cannot share 4 parts"});
    refuse({"evaluate", "nowhere"}, 3, {"nowhere"});
    refuse({"evaluate", "graph"}, 3, {"graph"});
    refuse({"predict", "run", "out.npz", "--memory", "1k"}, 2, {"needs at least"});
}

TEST_F(UseOfRuns, OtherDataIsRefused) {
    ok({"partition", "graph", "others", "--parts", "2", "--method", "ldg"});
    refuse({"evaluate", "run", "--data", "others"}, 3, {"another data set", "checksum"});
    std::filesystem::rename(folder_ / "parts", folder_ / "moved");
    refuse({"evaluate", "run"}, 3, {"no longer where it was", "--data"});
    EXPECT_EQ(ok_json({"evaluate", "run", "--data", "moved"}).at("vertices").at("train").is_null(),
              false);
}

TEST_F(UseOfRuns, ANetworkOfOneLayerHasNoEmbeddings) {
    ok({"train", "parts", "--epochs", "1", "--layers", "1", "--out", "flat", "--quiet"});
    refuse({"predict", "flat", "out.npz", "--embeddings"}, 2, {"--embeddings"});
    ok({"predict", "flat", "out.npz"});
}

}  // namespace
}  // namespace rudder::test
