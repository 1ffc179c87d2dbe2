// Learned rows as a user meets them: training without features, checkpoints, scores and answers
// from them, a cut run that goes on, refusals.
#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <unistd.h>

#include "cli_support.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

class EmbeddingRuns : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "240", "--classes", "4", "--features", "none",
            "--seed", "2"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    /// Papers have features; who wrote them and where they appeared has none.
    void make_typed() {
        std::string papers = "id,pages,kind\n";
        std::string writes = "source,target\n";
        std::string appears = "source,target\n";
        std::string authors = "id\n";
        for (int p = 0; p < 90; ++p) {
            papers += fmt::format("{},{},{}\n", p, p % 7, p % 2 == 0 ? "even" : "odd");
            for (const int a : {p % 2 + 2 * (p % 11), p % 2 + 2 * (p % 13)})
                writes += fmt::format("{},{}\n", a, p);
            appears += fmt::format("{},{}\n", p, p % 4);
        }
        for (int a = 0; a < 26; ++a)
            authors += fmt::format("{}\n", a);
        write("papers.csv", papers);
        write("authors.csv", authors);
        write("venues.csv", "id\n0\n1\n2\n3\n");
        write("writes.csv", writes);
        write("appears.csv", appears);
        write("schema.toml", R"([[vertices]]
type = "paper"
files = "papers.csv"
features = ["pages"]
label = "kind"
[[vertices]]
type = "author"
files = "authors.csv"
[[vertices]]
type = "venue"
files = "venues.csv"
[[edges]]
type = "writes"
from = "author"
to = "paper"
files = "writes.csv"
[[edges]]
type = "appears_in"
from = "paper"
to = "venue"
files = "appears.csv"
)");
        ok({"import", "schema.toml", "library", "--split", "60/20/20", "--quiet"});
        ok({"partition", "library", "typed", "--parts", "2", "--method", "ldg"});
    }
    /// What is given again takes the place of the first.
    static Words training(const std::string& out, const Words& more = {}) {
        Words words{"train", "parts", "--epochs", "3",  "--hidden", "8", "--fanout", "4,4",
                    "--lr",  "0.02",  "--batch",  "10", "--out",    out, "--quiet",  "--embeddings",
                    "16"};
        for (std::size_t i = 0; i < more.size(); ++i) {
            const auto found = std::ranges::find(words, more[i]);
            if (found != words.end() && more[i].starts_with("--")) {
                *(found + 1) = more[++i];
            } else {
                words.push_back(more[i]);
            }
        }
        return words;
    }
    static Words on(const std::string& data, Words words) {
        words[1] = data;
        return words;
    }
    [[nodiscard]] Json summary(const std::string& run) const {
        return read_json(folder_ / run / "summary.json");
    }
    [[nodiscard]] std::string digest(const std::string& run) const {
        return summary(run).at("loss").at("digest").get<std::string>();
    }
};

TEST_F(EmbeddingRuns, TrainEvaluateAndPredict) {
    ok(training("run"));
    const Words elsewhere{"--ranks", "2",          "--ranks-per-host", "1",         "--policy",
                          "lru",     "--topology", "partitioned",      "--threads", "1"};
    ok(training("hosts", elsewhere));
    EXPECT_EQ(digest("run"), digest("hosts"));
    EXPECT_EQ(summary("run").at("rows").at("learned"), 0);
    const Json rows = summary("hosts").at("rows");
    EXPECT_GT(rows.at("learned").get<std::uint64_t>(), 0U);
    EXPECT_EQ(rows.at("learned"), rows.at("demand"));
    for (const std::string run : {"run", "hosts"}) {
        const Json scores = ok_json({"evaluate", run});
        EXPECT_EQ(scores.at("accuracy").at("test"), summary(run).at("accuracy").at("test"));
        ok({"predict", run, run + ".csv", "--quiet"});
        ok({"info", run});
        ok({"report", run, "--quiet"});
    }
    EXPECT_EQ(bytes_of(folder_ / "run.csv"), bytes_of(folder_ / "hosts.csv"));
    EXPECT_THAT(bytes_of(folder_ / "run/config.toml"), HasSubstr("embeddings = '16'"));
}

TEST_F(EmbeddingRuns, SomeTypesOfSeveral) {
    make_typed();
    const Words typed = on("typed", training("run", {"--embeddings", "author=9,venue=3"}));
    ok(typed);
    Words again = on("typed", training("again", {"--embeddings", "author=9,venue=3", "--ranks", "2",
                                                 "--policy", "none"}));
    ok(again);
    EXPECT_EQ(digest("run"), digest("again"));
    EXPECT_EQ(ok_json({"evaluate", "run"}).at("accuracy").at("valid"),
              summary("run").at("accuracy").at("valid"));
    ok(on("typed", training("links", {"--embeddings", "5", "--task", "link", "--link-type",
                                      "writes", "--model", "gat"})));
    EXPECT_EQ(ok_json({"evaluate", "links"}).at("mrr"), summary("links").at("mrr"));
    ok({"predict", "links", "top.csv", "--top", "2", "--quiet"});
}

TEST_F(EmbeddingRuns, ACutRunGoesOn) {
    const Words more{"--epochs", "80", "--eval-every", "1"};
    ok(training("whole", more));
    RunOptions options = here();
    options.after = [&](pid_t pid) {
        for (int i = 0; i < 6000 && !has_checkpoint(folder_ / "cut"); ++i)
            ::usleep(1000);
        ::kill(pid, SIGINT);
    };
    const Outcome cut = rudder(training("cut", more), options);
    EXPECT_EQ(cut.code, 5) << cut.err;
    Words resumed = training("cut", more);
    resumed.insert(resumed.end(), {"--resume", "--ranks", "2"});
    ok(resumed);
    EXPECT_EQ(digest("cut"), digest("whole"));
    EXPECT_EQ(summary("cut").at("accuracy"), summary("whole").at("accuracy"));
    ok({"predict", "cut", "cut.csv", "--quiet"});
    ok({"predict", "whole", "whole.csv", "--quiet"});
    EXPECT_EQ(bytes_of(folder_ / "cut.csv"), bytes_of(folder_ / "whole.csv"));
}

TEST_F(EmbeddingRuns, DamagedRowsAreRefused) {
    ok(training("run"));
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "run/checkpoints")) {
        if (entry.path().filename() != "embeddings.safetensors") continue;
        std::string bytes = bytes_of(entry.path());
        bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 4);
        std::ofstream(entry.path(), std::ios::binary) << bytes;
    }
    const Outcome refused = rudder({"evaluate", "run"}, here());
    EXPECT_EQ(refused.code, 3);
    EXPECT_THAT(refused.err, HasSubstr("embeddings.safetensors"));
}

TEST_F(EmbeddingRuns, RefuseWhatDoesNotGoTogether) {
    refuse(training("out", {"--precision", "int8"}), 2,
           {"learned rows are not rounded to int8", "--precision"});
    refuse(training("out", {"--sparse", "on"}), 2, {"learned rows are not sparse"});
    refuse(training("out", {"--embeddings", "0"}), 2, {"invalid embeddings: '0'"});
    refuse(training("out", {"--embeddings", "author=4"}), 2, {"one type of vertices"});
    Words words = training("out");
    words.resize(words.size() - 2);
    refuse(words, 3, {"no features", "train --embeddings 64"});
    make_typed();
    refuse(on("typed", training("out", {"--embeddings", "paper=4"})), 2,
           {"vertices of type 'paper' have features", "author, venue"});
    refuse(on("typed", training("out", {"--embeddings", "writer=4"})), 2,
           {"unknown type of vertices 'writer'"});
    ok({"generate", "sbm", "full", "--vertices", "60"});
    ok({"partition", "full", "full-parts", "--parts", "2", "--method", "ldg"});
    refuse(on("full-parts", training("out")), 2, {"the vertices have features"});
    ok(training("run"));
    ok({"generate", "sbm", "other", "--vertices", "240", "--classes", "4", "--features", "none",
        "--seed", "9"});
    ok({"partition", "other", "other-parts", "--parts", "2", "--method", "ldg"});
    refuse({"evaluate", "run", "--data", "other-parts"}, 3,
           {"rows that it learned for the vertices of its own data set"});
    refuse({"predict", "run", "out.csv", "--data", "other-parts"}, 3, {"rows that it learned"});
}

}  // namespace
}  // namespace rudder::test
