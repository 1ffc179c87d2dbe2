// Features of edges as a user meets them: from an archive to training, scores and answers.
#include "cli_support.hpp"

namespace rudder::test {
namespace {

class EdgeFeatureRuns : public CliTest {
protected:
    /// A wheel of 48 vertices whose edges know the class that the vertices have.
    void SetUp() override {
        constexpr std::int32_t n = 48;
        std::vector<std::int32_t> from;
        std::vector<std::int32_t> to;
        std::vector<float> rows;
        std::vector<float> x;
        std::vector<std::int64_t> y;
        std::vector<std::int64_t> train;
        std::vector<std::int64_t> valid;
        std::vector<std::int64_t> test;
        for (std::int32_t v = 0; v < n; ++v) {
            y.push_back(v / 24);
            x.insert(x.end(), {0.5F, static_cast<float>(v % 5) / 5});
            (v % 3 != 0 ? train : v % 2 == 0 ? valid : test).push_back(v);
            for (const std::int32_t step : {1, 2, 5}) {
                from.push_back(v);
                to.push_back((v + step) % n);
                rows.insert(rows.end(), {static_cast<float>(v / 24), static_cast<float>(v % 3)});
            }
        }
        write("wheel.npz", zip({{"src", npy(from)},
                                {"dst", npy(to)},
                                {"edge_attr", npy(rows, 2)},
                                {"x", npy(x, 2)},
                                {"y", npy(y)},
                                {"train", npy(train)},
                                {"valid", npy(valid)},
                                {"test", npy(test)}}));
        ok({"import", "wheel.npz", "graph"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    static Words training(const std::string& out, const std::string& model) {
        return {"train",    "parts", "--model",         model,   "--epochs", "40",
                "--hidden", "16",    "--fanout",        "4,4",   "--lr",     "0.02",
                "--batch",  "8",     "--edge-features", "--out", out,        "--quiet"};
    }
    [[nodiscard]] std::string digest(const std::string& run) const {
        return read_json(folder_ / run / "summary.json").at("loss").at("digest").get<std::string>();
    }
};

TEST_F(EdgeFeatureRuns, TrainEvaluateAndPredict) {
    EXPECT_EQ(ok_json({"info", "parts"}).at("edge_features").at("width"), 2);
    for (const std::string model : {"sage", "gat", "gatv2"}) {
        ok(training(model, model));
        Words again = training(model + "-again", model);
        again.insert(again.end(), {"--policy", "none", "--topology", "partitioned"});
        ok(again);
        EXPECT_EQ(digest(model), digest(model + "-again"));
        const Json summary = read_json(folder_ / model / "summary.json");
        const Json scores = ok_json({"evaluate", model});
        EXPECT_EQ(scores.at("accuracy").at("test"), summary.at("accuracy").at("test"));
        ok({"predict", model, model + ".csv"});
        EXPECT_TRUE(std::filesystem::exists(folder_ / (model + ".csv")));
    }
    // What edges say goes straight into the sums of sage.
    EXPECT_GT(read_json(folder_ / "sage/summary.json").at("accuracy").at("test").get<double>(),
              0.8);
}

TEST_F(EdgeFeatureRuns, RefuseWhatDoesNotReadThem) {
    Words words = training("run", "gcn");
    refuse(words, 2, {"model 'gcn' does not read the features of edges", "sage or gat or gatv2"});
    words = training("run", "sage");
    words.insert(words.end(), {"--task", "link"});
    refuse(words, 2, {"--edge-features"});
    ok({"generate", "sbm", "plain", "--vertices", "60"});
    ok({"partition", "plain", "plain-parts", "--parts", "2", "--method", "ldg"});
    words = training("run", "sage");
    words[1] = "plain-parts";
    Outcome refused = rudder(words, here());
    EXPECT_EQ(refused.code, 3);
    EXPECT_THAT(refused.err, HasSubstr("its edges have no features"));
    ok({"generate", "typed", "typed", "--vertices", "200"});
    ok({"partition", "typed", "typed-parts", "--parts", "2", "--method", "ldg"});
    words[1] = "typed-parts";
    refused = rudder(words, here());
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err,
                HasSubstr("--edge-features does not go with a graph of several types"));
}

}  // namespace
}  // namespace rudder::test
