// What a newcomer meets: data without parts, one host, a batch that fits.
#include <fmt/format.h>

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

class FirstContact : public CliTest {
protected:
    void SetUp() override { ok({"generate", "sbm", "graph", "--vertices", "2000", "--seed", "3"}); }
    static Words train(const std::string& data, const Words& more = {}) {
        Words words{"train", data, "--hidden", "8", "--fanout", "4,6", "--epochs", "1"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
};

TEST_F(FirstContact, DataWithoutPartsIsToldHowToGetThem) {
    refuse(train("graph"), 3,
           {"the data set is not partitioned", "rudder partition graph graph-parts --parts 4",
            "--ranks N"});
}

TEST_F(FirstContact, WithRanksTrainingMakesThePartsAndFindsThemAgain) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Words words = train("graph/", {"--ranks", "2", "--out", "run", "--force"});
    const Outcome first = rudder(words, here());
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_THAT(first.err, HasSubstr("partitioning graph/ into 2 parts in graph.parts-2"));
    EXPECT_EQ(ok_json({"info", "graph.parts-2", "--check"}).at("parts"), 2);
    EXPECT_EQ(read_json(folder_ / "run/run.json").at("data"), "graph.parts-2");
    const auto parts = checksums_of(folder_ / "graph.parts-2");
    ok({"partition", "graph", "parts", "--parts", "2"});
    EXPECT_EQ(checksums_of(folder_ / "parts"), parts) << "as rudder partition makes them";
    const Outcome again = rudder(words, here());
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("training on graph.parts-2, made of graph/ earlier"));
    // The data set was made anew.
    ok({"generate", "sbm", "graph", "--vertices", "2000", "--seed", "4", "--force"});
    const Outcome stale = rudder(words, here());
    EXPECT_EQ(stale.code, 0) << stale.err;
    EXPECT_THAT(stale.err, HasSubstr("replacing the parts of its earlier state"));
    EXPECT_NE(checksums_of(folder_ / "graph.parts-2"), parts);
    // What somebody else has put there stays.
    fs::remove_all(folder_ / "graph.parts-2");
    ok({"partition", "graph", "graph.parts-2", "--parts", "2", "--method", "hash"});
    refuse(words, 2, {"taken by something else", "graph.parts-2"});
    EXPECT_EQ(ok_json({"info", "graph.parts-2"}).at("method"), "hash");
}

TEST_F(FirstContact, TheBatchFollowsFromThePartitionAlone) {
    ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    const std::string text = ok(train("parts"));
    const Json summary = ok_json(train("parts", {"--out", "run"}));
    const Json plan = ok_json(train("parts", {"--plan"}));
    // 1,200 training vertices in two parts: 30 would make 20 steps, and 32 is the least.
    EXPECT_THAT(text, HasSubstr("batch 32 per part: "));
    EXPECT_EQ(plan.at("steps_per_epoch"), summary.at("steps_per_epoch"));
    EXPECT_THAT(bytes_of(folder_ / "run/config.toml"), HasSubstr("batch = 32\n"));
    EXPECT_THAT(ok({"train", "parts", "--print-config"}), HasSubstr("batch = 32\n"));
    EXPECT_THAT(ok({"train", "--print-config"}), Not(HasSubstr("batch = ")));
    EXPECT_THAT(ok(train("parts", {"--batch", "100"})), Not(HasSubstr("per part: ")));
    if (!no_mpirun().empty()) return;
    const Json two = ok_json(train("parts", {"--ranks", "2"}));
    EXPECT_EQ(two.at("loss").at("digest"), summary.at("loss").at("digest"));
}

TEST_F(FirstContact, OneHostSaysThatNothingIsRemote) {
    ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    const std::string text = ok(train("parts"));
    EXPECT_THAT(text, HasSubstr("one host: no row is remote"));
    EXPECT_THAT(text, HasSubstr("--ranks 2 --ranks-per-host 1"));
    EXPECT_THAT(text, HasSubstr("--link 100us,1gbit"));
    EXPECT_THAT(ok(train("parts", {"--quiet"})), Not(HasSubstr("one host")));
    ok({"partition", "graph", "single", "--parts", "1", "--method", "ldg"});
    EXPECT_THAT(ok(train("single")), HasSubstr("a data set of several parts"));
    if (!no_mpirun().empty()) return;
    EXPECT_THAT(ok(train("parts", {"--ranks", "2", "--ranks-per-host", "1"})),
                Not(HasSubstr("one host")));
}

}  // namespace
}  // namespace rudder::test
