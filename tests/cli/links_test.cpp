// Links as a user meets them: a run, its scores, its predictions under the user's ids, refusals.
#include <sstream>

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class LinkRuns : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "300", "--classes", "10", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    static Words training(const std::string& out) {
        return {"train", "parts", "--task",   "link", "--epochs",         "2", "--hidden", "16",
                "--out", out,     "--fanout", "4,6",  "--eval-negatives", "0"};
    }
    void train(const std::string& out, const Words& more = {}) {
        Words words = training(out);
        words.insert(words.end(), more.begin(), more.end());
        words.emplace_back("--quiet");
        ok(words);
    }
};

TEST_F(LinkRuns, SayHowTheirLinksRanked) {
    const Outcome trained = rudder(training("run"), here());
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_THAT(trained.out, HasSubstr("MRR test"));
    const Json summary = read_json(folder_ / "run/summary.json");
    EXPECT_GT(summary.at("mrr").at("test").get<double>(), 0);
    EXPECT_GT(summary.at("auc").at("valid").get<double>(), 0);
    EXPECT_LE(summary.at("hits").at("10").at("test").get<double>(), 1);
    const std::string lines = bytes_of(folder_ / "run/epochs.jsonl");
    std::istringstream epochs(lines);
    int count = 0;
    for (std::string line; std::getline(epochs, line); ++count)
        EXPECT_TRUE(parse_json(line, "epochs").contains("mrr")) << line;
    EXPECT_EQ(count, 2);
    const Json again = ok_json({"evaluate", "run"});
    EXPECT_EQ(again.at("mrr"), summary.at("mrr"));
    EXPECT_EQ(again.at("hits"), summary.at("hits"));
    EXPECT_EQ(again.at("auc"), summary.at("auc"));
    EXPECT_GT(again.at("links").at("test").get<int>(), 10);
    EXPECT_THAT(ok({"evaluate", "run"}), HasSubstr("hits@10"));
}

TEST_F(LinkRuns, RepeatAndDependOnTheirOptions) {
    train("one");
    train("two", {"--policy", "none", "--topology", "partitioned"});
    train("other", {"--scorer", "mlp", "--link-loss", "softmax", "--negatives", "degree:3"});
    const auto digest = [&](const std::string& run) {
        return read_json(folder_ / run / "summary.json").at("loss").at("digest").get<std::string>();
    };
    EXPECT_EQ(digest("one"), digest("two"));
    EXPECT_NE(digest("one"), digest("other"));
    ok({"evaluate", "other", "--quiet"});
}

TEST_F(LinkRuns, PredictTheBestTargetsInTheUsersIds) {
    std::ofstream(folder_ / "people.csv") << "id,x\nann,1\nbob,2\ncy,3\ndora,4\nemil,5\nfritz,6\n";
    std::ofstream(folder_ / "knows.csv") << "source,target\nann,bob\nann,cy\nbob,cy\ndora,emil\n"
                                            "dora,fritz\nemil,fritz\ncy,dora\nann,emil\n";
    ASSERT_EQ(rudder({"import", "people.csv", "knows.csv", "people"}, here()).code, 0);
    ok({"partition", "people", "people-parts", "--parts", "1", "--method", "ldg"});
    ok({"train", "people-parts", "--task", "link", "--epochs", "1", "--hidden", "8", "--out", "run",
        "--quiet"});
    ok({"predict", "run", "links.csv", "--task", "link", "--top", "2", "--quiet"});
    std::istringstream lines(bytes_of(folder_ / "links.csv"));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "source,target,score");
    std::map<std::string, int> counts;
    while (std::getline(lines, line)) {
        ++counts[line.substr(0, line.find(','))];
        EXPECT_EQ(line.find("ann,bob"), std::string::npos) << "they are joined";
    }
    EXPECT_EQ(counts.size(), 6U);
    EXPECT_EQ(counts.at("ann"), 2);
    EXPECT_EQ(counts.at("emil"), 2);
    const Json told = ok_json({"predict", "run", "links.npz"});
    EXPECT_EQ(told.at("top"), 10);
}

TEST_F(LinkRuns, RefuseWhatDoesNotGoTogether) {
    train("run");
    ok({"train", "parts", "--epochs", "1", "--hidden", "8", "--fanout", "2,2", "--out", "vertices",
        "--quiet"});
    refuse({"predict", "run", "out.npz", "--task", "vertex"}, 2,
           {"invalid task: 'vertex'; the run learned links"});
    refuse({"predict", "vertices", "out.npz", "--task", "link"}, 2,
           {"invalid task: 'link'; the run learned targets of vertices"});
    refuse({"predict", "run", "out.npz", "--task", "edges"}, 2, {"unknown task 'edges'"});
    refuse({"predict", "run", "out.npz", "--top", "0"}, 2, {"invalid top: '0'"});
    refuse({"predict", "run", "out.npz", "--embeddings"}, 2,
           {"a run with --task link writes links, not vertices"});
    refuse({"predict", "run", "out.npz", "--type", "item"}, 2,
           {"a run with --task link writes links, not vertices of a type"});
    refuse({"train", "parts", "--task", "link", "--temporal", "newest"}, 2,
           {"task 'link' does not go with --temporal"});
    refuse({"train", "parts", "--task", "link", "--negatives", "none"}, 2,
           {"invalid negatives: 'none'"});
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.npz"));
}

}  // namespace
}  // namespace rudder::test
