// Trained networks in use, as a user sees it: exact scores, predictions, refusals.
#include <fmt/format.h>

#include "graph/io/npz.hpp"

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

TEST_F(UseOfRuns, EvaluateWhileTheRunIsBeingWritten) {
    int scored = 0;
    int refused = 0;
    RunOptions options = here();
    options.after = [&](pid_t) {
        for (int i = 0; i < 400 && !std::filesystem::exists(folder_ / "busy/summary.json"); ++i) {
            const Outcome found = rudder({"evaluate", "busy", "--json"}, here());
            if (found.code == 0) {
                ++scored;
                const Json json = parse_json(found.out, "out");
                EXPECT_EQ(json.at("step").get<int>() % json.at("epoch").get<int>(), 0);
                for (const char* set : {"train", "valid", "test"})
                    EXPECT_GT(json.at("accuracy").at(set).get<double>(), 0.1) << found.out;
                continue;
            }
            ++refused;
            EXPECT_EQ(found.code, 3) << found.err;
            EXPECT_THAT(found.err, testing::AnyOf(HasSubstr("run not found"),
                                                  HasSubstr("the run has no checkpoint")));
        }
    };
    // Steps are short and checkpoints many: those that are read are soon removed.
    const Outcome trained = rudder({"train", "parts", "--epochs", "60", "--batch", "40", "--hidden",
                                    "64", "--fanout", "4,6", "--out", "busy", "--quiet"},
                                   options);
    EXPECT_EQ(trained.code, 0) << trained.err;
    EXPECT_GT(scored, 0);
    std::printf("evaluations while training: %d scored, %d before the first checkpoint\n", scored,
                refused);
    const Json summary = read_json(folder_ / "busy/summary.json");
    EXPECT_EQ(ok_json({"evaluate", "busy"}).at("accuracy").at("test"),
              summary.at("accuracy").at("test"));
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
    EXPECT_EQ(graph::NpzArchive(folder_ / "out.npz").names(),
              (std::vector<std::string>{"class", "scores"}));
    refuse({"predict", "run", "out.npz"}, 2, {"out.npz", "--force"});
    ok({"predict", "run", "out.npz", "--force", "--embeddings"});
    EXPECT_EQ(graph::NpzArchive(folder_ / "out.npz").names(),
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
    refuse({"evaluate", "run"}, 3, {"moved or removed", "--data"});
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
