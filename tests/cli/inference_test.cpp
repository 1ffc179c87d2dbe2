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

TEST_F(UseOfRuns, WithoutDataTheRunsOwnIsTakenOrNone) {
    std::filesystem::rename(folder_ / "parts", folder_ / "moved");
    refuse({"evaluate", "run"}, 3, {"moved or removed", "--data"});
    const Json found = ok_json({"evaluate", "run", "--data", "moved"});
    EXPECT_FALSE(found.at("vertices").at("train").is_null());
    EXPECT_EQ(found.at("other_data"), false);
    ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    refuse({"evaluate", "run"}, 3, {"another data set", "checksum"});
}

TEST_F(UseOfRuns, TomorrowsGraphInPartsOrWhole) {
    ok({"generate", "sbm", "tomorrow", "--vertices", "900", "--seed", "3", "--degree", "12"});
    ok({"partition", "tomorrow", "parted", "--parts", "1"});
    ok({"train", "parts", "--epochs", "15", "--batch", "40", "--hidden", "32", "--fanout", "4,6",
        "--lr", "0.02", "--out", "good", "--quiet"});
    const Json own = ok_json({"evaluate", "good"});
    const Json found = ok_json({"evaluate", "good", "--data", "parted"});
    EXPECT_EQ(found.at("other_data"), true);
    EXPECT_EQ(found.at("classes_by"), "number");
    EXPECT_EQ(found.at("data"), "parted");
    EXPECT_EQ(found.at("vertices").at("test"), 180);
    EXPECT_GT(own.at("accuracy").at("test").get<double>(), 0.7);
    EXPECT_NEAR(found.at("accuracy").at("test").get<double>(),
                own.at("accuracy").at("test").get<double>(), 0.15);
    ok({"predict", "good", "parted.npz", "--data", "parted", "--embeddings"});
    const Outcome whole =
        rudder({"predict", "good", "whole.npz", "--data", "tomorrow", "--embeddings"}, here());
    EXPECT_EQ(whole.code, 0) << whole.err;
    EXPECT_THAT(whole.err, HasSubstr("partitioning tomorrow into 1 part in tomorrow.parts-1"));
    EXPECT_EQ(bytes_of(folder_ / "whole.npz"), bytes_of(folder_ / "parted.npz"));
    const Outcome again = rudder({"evaluate", "good", "--data", "tomorrow", "--json"}, here());
    EXPECT_THAT(again.err, HasSubstr("using tomorrow.parts-1, made of tomorrow earlier"));
    EXPECT_EQ(parse_json(again.out, "out").at("loss"), found.at("loss"));
    if (!no_mpirun().empty()) return;
    const Outcome two =
        rudder({"evaluate", "good", "--data", "tomorrow", "--ranks", "2", "--json"}, here());
    EXPECT_EQ(two.code, 0) << two.err;
    const Json on_two = parse_json(two.out, "out");
    EXPECT_EQ(on_two.at("ranks"), 2);
    EXPECT_EQ(on_two.at("accuracy"), found.at("accuracy"));
    EXPECT_EQ(on_two.at("loss"),
              ok_json({"evaluate", "good", "--data", "tomorrow.parts-2"}).at("loss"));
}

TEST_F(UseOfRuns, DataThatDoesNotFitIsRefusedBeforeItIsDivided) {
    ok({"generate", "sbm", "wide", "--vertices", "300", "--features", "random:7"});
    const std::string width =
        std::to_string(ok_json({"info", "graph"}).at("features").at("width").get<int>());
    refuse({"evaluate", "run", "--data", "wide"}, 3,
           {"cannot be used on this data set", "feature columns: " + width + " in the run, 7 here",
            "wide"});
    ok({"generate", "sbm", "more", "--vertices", "300", "--classes", "12"});
    refuse({"predict", "run", "out.npz", "--data", "more"}, 3, {"classes: 10 in the run, 12 here"});
    ok({"generate", "rmat", "bare", "--vertices", "300", "--features", "random:" + width});
    refuse({"evaluate", "run", "--data", "bare"}, 3, {"no labels", "rudder predict"});
    const Outcome bare = rudder({"predict", "run", "out.npz", "--data", "bare", "--json"}, here());
    EXPECT_EQ(bare.code, 0) << bare.err;
    EXPECT_TRUE(parse_json(bare.out, "out").at("classes_by").is_null());
    EXPECT_TRUE(parse_json(bare.out, "out").at("accuracy").at("test").is_null());
    refuse({"evaluate", "run", "--data", "nowhere"}, 3, {"nowhere"});
    EXPECT_FALSE(std::filesystem::exists(folder_ / "wide.parts-1"));
}

TEST_F(UseOfRuns, ACheckpointIsAsGoodAsItsRun) {
    const Json own = ok_json({"evaluate", "run"});
    const Json found = ok_json({"evaluate", own.at("checkpoint").get<std::string>()});
    EXPECT_EQ(found.at("loss"), own.at("loss"));
}

/// A data set of two classes that are plain from the features, with names.
std::string named_graph(const std::vector<std::int64_t>& labels, const std::u32string& names) {
    constexpr std::int64_t vertices = 60;
    std::vector<std::int32_t> source;
    std::vector<std::int32_t> target;
    std::vector<std::int64_t> y;
    std::string x;
    for (std::int64_t v = 0; v < vertices; ++v) {
        source.push_back(static_cast<std::int32_t>(v));
        target.push_back(static_cast<std::int32_t>((v + 2) % vertices));
        y.push_back(labels[static_cast<std::size_t>(v) % labels.size()]);
        const float sign = v % 2 == 0 ? 1.F : -1.F;
        x += raw<float>({sign, -sign, 0.5F});
    }
    const NpyBytes texts{"<U1",
                         "(" + std::to_string(names.size()) + ",)",
                         {reinterpret_cast<const char*>(names.data()), names.size() * 4}};
    return zip({{"num_nodes", NpyBytes{"<i8", "()", raw<std::int64_t>({vertices})}.str()},
                {"src", npy<std::int32_t>(source)},
                {"dst", npy<std::int32_t>(target)},
                {"x", NpyBytes{"<f4", "(60, 3)", x}.str()},
                {"y", npy<std::int64_t>(y)},
                {"classes", texts.str()}});
}

class NamedClasses : public CliTest {};

TEST_F(NamedClasses, OfOtherDataAreFoundByName) {
    const auto make = [&](const std::string& name, const std::vector<std::int64_t>& labels,
                          const std::u32string& names) {
        write(name + ".npz", named_graph(labels, names));
        ok({"import", name + ".npz", name});
        ok({"partition", name, name + "-parts", "--parts", "2", "--method", "ldg"});
    };
    make("a", {0, 1}, U"ab");
    make("permuted", {2, 0}, U"bca");
    make("partly", {0, 1, 0, 1, 0, 2}, U"abz");
    ok({"train", "a-parts", "--epochs", "30", "--batch", "16", "--hidden", "8", "--fanout", "4,4",
        "--lr", "0.02", "--out", "run", "--quiet"});
    const Json own = ok_json({"evaluate", "run"});
    EXPECT_EQ(own.at("accuracy").at("test"), 1.0);
    const Json permuted = ok_json({"evaluate", "run", "--data", "permuted-parts"});
    EXPECT_EQ(permuted.at("classes_by"), "name");
    EXPECT_EQ(permuted.at("accuracy").at("test"), 1.0);
    EXPECT_EQ(permuted.at("unknown_labels"), 0) << "of 'c' there is none";
    const Json partly = ok_json({"evaluate", "run", "--data", "partly-parts"});
    EXPECT_EQ(partly.at("unknown_classes"), Json::array({"z"}));
    EXPECT_EQ(partly.at("unknown_labels"), 10);
    EXPECT_EQ(partly.at("accuracy").at("train"), 1.0);
    EXPECT_THAT(ok({"evaluate", "run", "--data", "partly-parts"}),
                HasSubstr("not scored: 10 labels of 1 class that the network does not know ('z')"));
    const Json predicted = ok_json({"predict", "run", "out.npz", "--data", "permuted-parts"});
    EXPECT_EQ(predicted.at("class_names"), Json::array({"a", "b"}));
    ok({"predict", "run", "out.csv", "--data", "permuted-parts"});
    EXPECT_THAT(bytes_of(folder_ / "out.csv"), testing::StartsWith("id,class,score_a,score_b\n"))
        << "the network's classes, not those of the data";
    if (!no_mpirun().empty()) return;
    const Json two = ok_json({"evaluate", "run", "--data", "partly-parts", "--ranks", "2"});
    EXPECT_EQ(two.at("loss"), partly.at("loss"));
    EXPECT_EQ(two.at("unknown_labels"), 10);
}

TEST_F(UseOfRuns, ANetworkOfOneLayerHasNoEmbeddings) {
    ok({"train", "parts", "--epochs", "1", "--layers", "1", "--out", "flat", "--quiet"});
    refuse({"predict", "flat", "out.npz", "--embeddings"}, 2, {"--embeddings"});
    ok({"predict", "flat", "out.npz"});
}

}  // namespace
}  // namespace rudder::test
