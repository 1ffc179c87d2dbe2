// Links of one type, and training by time, on graphs of several types as a user meets them: tables,
// runs, scores, predictions under the ids of either type, refusals.
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "rudder/core/text.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class TypedLinkRuns : public CliTest {
protected:
    static constexpr int users = 24;
    static constexpr int items = 16;

    /// Users who buy items of their own half, some days after each other, and know the next user.
    void SetUp() override {
        std::string people = "id,age\n";
        for (int u = 0; u < users; ++u)
            people += fmt::format("user-{},{}\n", u, 20 + u % 7);
        write("users.csv", people);
        std::string things = "id,price,kind,split,time\n";
        for (int i = 0; i < items; ++i) {
            things += fmt::format("{},{}.5,{},{},{}\n", 100 + i, i % 5, i % 2 == 0 ? "book" : "toy",
                                  i % 4 == 1   ? "test"
                                  : i % 4 == 2 ? "valid"
                                               : "train",
                                  60 + i % 9);
        }
        write("items.csv", things);
        std::string buys = "source,target,time\n";
        for (int u = 0; u < users; ++u) {
            for (int k = 0; k < 5; ++k) {
                buys += fmt::format("user-{},{},{}\n", u, 100 + (u % 2 + 2 * (u + 3 * k)) % items,
                                    10 * k + u % 10);
            }
        }
        write("buys.csv", buys);
        std::string knows = "source,target,time\n";
        for (int u = 0; u < users; ++u)
            knows += fmt::format("user-{},user-{},{}\n", u, (u + 2) % users, u);
        write("knows.csv", knows);
        write("schema.toml", R"([[vertices]]
type = "user"
files = "users.csv"
features = ["age"]

[[vertices]]
type = "item"
files = "items.csv"
features = ["price"]
label = "kind"
split = "split"
time = "time"

[[edges]]
type = "buys"
from = "user"
to = "item"
files = "buys.csv"
time = "time"

[[edges]]
type = "knows"
from = "user"
to = "user"
files = "knows.csv"
time = "time"
)");
        ok({"import", "schema.toml", "shop", "--quiet"});
        ok({"partition", "shop", "parts", "--parts", "2", "--method", "ldg"});
    }
    static Words training(const std::string& out, const Words& more) {
        Words words{"train", "parts",   "--epochs", "3",     "--hidden", "8",      "--fanout",
                    "4,4",   "--batch", "16",       "--out", out,        "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    static Words links(const std::string& type, const Words& more = {}) {
        Words words{"--task", "link", "--link-type", type, "--eval-negatives", "0"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    [[nodiscard]] std::string digest(const std::string& run) const {
        return read_json(folder_ / run / "summary.json").at("loss").at("digest").get<std::string>();
    }
};

TEST_F(TypedLinkRuns, AreScoredAndRepeat) {
    ok(training("one", links("buys", {"--scorer", "distmult"})));
    ok(training("two", links("buys", {"--scorer", "distmult", "--ranks", "2", "--policy", "lru",
                                      "--topology", "partitioned", "--threads", "1"})));
    EXPECT_EQ(digest("one"), digest("two"));
    ok(training("other", links("knows", {"--scorer", "distmult"})));
    EXPECT_NE(digest("one"), digest("other"));
    for (const std::string run : {"one", "other"}) {
        const Json summary = read_json(folder_ / run / "summary.json");
        const Json again = ok_json({"evaluate", run});
        for (const char* key : {"mrr", "hits", "auc"})
            EXPECT_EQ(again.at(key), summary.at(key)) << run << key;
        EXPECT_GT(summary.at("mrr").at("test").get<double>(), 0);
        // Of so many edges each is one link, 80/10/10.
        const Json& counted = again.at("links");
        EXPECT_LT(counted.at("test").get<int>() + counted.at("valid").get<int>(),
                  run == "one" ? users * 5 / 2 : users / 2);
        ok({"report", run, "--quiet"});
        ok({"info", run});
    }
    const std::string config = bytes_of(folder_ / "one/config.toml");
    EXPECT_THAT(config, HasSubstr("link-type = 'buys'"));
}

TEST_F(TypedLinkRuns, PredictTargetsOfTheTypeUnderTheIdsOfBoth) {
    ok(training("run", links("buys")));
    const Json told = ok_json({"predict", "run", "links.csv", "--top", "3"});
    EXPECT_EQ(told.at("top"), 3);
    std::set<std::string> bought;
    std::istringstream edges(bytes_of(folder_ / "buys.csv"));
    std::string line;
    while (std::getline(edges, line))
        bought.insert(line.substr(0, line.rfind(',')));
    std::istringstream lines(bytes_of(folder_ / "links.csv"));
    std::getline(lines, line);
    EXPECT_EQ(line, "source,target,score");
    std::map<std::string, int> counts;
    while (std::getline(lines, line)) {
        const auto words = split(std::string_view(line), ',');
        ++counts[std::string(words[0])];
        const auto target = parse_u64(words[1]);
        ASSERT_TRUE(target.has_value()) << line;
        EXPECT_TRUE(*target >= 100 && *target < 100 + items) << line;
        EXPECT_FALSE(bought.contains(line.substr(0, line.rfind(',')))) << "they are joined";
    }
    EXPECT_EQ(counts.size(), static_cast<std::size_t>(users));
    EXPECT_EQ(counts.at("user-7"), 3);
    ok({"predict", "run", "links.npz", "--quiet"});
}

TEST_F(TypedLinkRuns, LearnByTimeAlongEachType) {
    for (const std::string temporal : {"newest", "uniform"}) {
        const std::string run = "by-" + temporal;
        ok(training(run, {"--temporal", temporal, "--type-fanout", "knows:2,0"}));
        ok(training(run + "-again",
                    {"--temporal", temporal, "--type-fanout", "knows:2,0", "--ranks", "2",
                     "--topology", "partitioned", "--policy", "none"}));
        EXPECT_EQ(digest(run), digest(run + "-again"));
        EXPECT_EQ(ok_json({"evaluate", run}).at("accuracy").at("test"),
                  read_json(folder_ / run / "summary.json").at("accuracy").at("test"));
        ok({"predict", run, run + ".csv", "--quiet"});
        EXPECT_THAT(bytes_of(folder_ / (run + ".csv")), HasSubstr("\n105,"));
    }
    EXPECT_NE(digest("by-newest"), digest("by-uniform"));
}

TEST_F(TypedLinkRuns, SayWhichTypesMayBeLinks) {
    refuse(training("run", {"--task", "link"}), 2,
           {"2 types of edges that may be links", "--link-type", "name one of buys, knows"});
    refuse(training("run", links("sells")), 2, {"unknown type of edges 'sells'"});
    refuse(training("run", links("rev_buys")), 2,
           {"edges of type 'rev_buys' are those of 'buys', the other way"});
    refuse(training("run", {"--link-type", "buys"}), 2, {"--link-type", "--task link"});
    refuse(training("run", links("buys", {"--temporal", "newest"})), 2,
           {"task 'link' does not go with --temporal"});
    refuse(training("run", links("buys", {"--negatives-from", "pairs.csv"})), 2,
           {"--negatives-from does not go with a graph of several types"});
    refuse(training("run", {"--task", "edge"}), 2, {"--task edge does not go with"});
    refuse(training("run", links("buys", {"--model", "gcn"})), 3, {"model 'gcn' does not know"});
    ok({"generate", "sbm", "plain", "--vertices", "60"});
    ok({"partition", "plain", "plain-parts", "--parts", "2", "--method", "ldg"});
    Words words = training("run", links("buys"));
    words[1] = "plain-parts";
    refuse(words, 2, {"the graph has one type of edges", "--link-type"});
}

}  // namespace
}  // namespace rudder::test
