// Verbs on ranks, as users see them: doctor with ranks, and with a partition for them to share.
#include <fmt/format.h>
#include <unistd.h>

#include "core/json.hpp"

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

class RankVerbs : public CliTest {
protected:
    void SetUp() override {
        if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
        ASSERT_EQ(rudder({"generate", "grid", path("graph"), "--rows", "8", "--columns", "8"}).code,
                  0);
        ASSERT_EQ(partition("parts", "0"), 0);
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    int partition(const std::string& name, const std::string& seed) const {
        return rudder({"partition", path("graph"), path(name), "--parts", "4", "--method", "random",
                       "--seed", seed})
            .code;
    }
};

TEST_F(RankVerbs, DoctorMeasuresBetweenRanks) {
    const Outcome outcome = rudder({"doctor", "--ranks", "3", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json = parse_json(outcome.out, "doctor");
    EXPECT_EQ(json.at("ranks"), 3);
    EXPECT_EQ(json.at("hosts"), 1);
    EXPECT_GT(json.at("latency_us").get<double>(), 0);
    EXPECT_GT(json.at("mbit_s").get<double>(), 0);
    EXPECT_EQ(json.at("pairs").size(), 3U);
}

TEST_F(RankVerbs, TasksThatDoNotKnowOfEachOtherAreRefused) {
    RunOptions options;
    options.extra = {"SLURM_STEP_NUM_TASKS=4"};
    const Outcome outcome = rudder({"train", path("parts"), "--epochs", "1"}, options);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err,
                testing::HasSubstr("srun started 4 tasks that do not know of each other"));
    EXPECT_THAT(outcome.err, testing::HasSubstr("--mpi=pmix"));
    options.extra = {"SLURM_STEP_NUM_TASKS=1"};
    EXPECT_EQ(rudder({"doctor", path("parts")}, options).code, 0);
}

TEST_F(RankVerbs, LinkMakesHostsOfOneRankAndSlowsThem) {
    const Outcome outcome = rudder({"doctor", "--ranks", "2", "--link", "3ms,1gbit", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json = parse_json(outcome.out, "doctor");
    EXPECT_EQ(json.at("hosts"), 2);
    EXPECT_GT(json.at("latency_us").get<double>(), 2999);
    EXPECT_LT(json.at("mbit_s").get<double>(), 1010);
}

TEST_F(RankVerbs, RanksPerHostGroupsRanks) {
    const Outcome outcome = rudder({"doctor", "--ranks", "4", "--ranks-per-host", "2", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(parse_json(outcome.out, "doctor").at("hosts"), 2);
}

TEST_F(RankVerbs, EveryRankOpensItsParts) {
    for (const char* ranks : {"1", "2", "4"}) {
        const Outcome outcome = rudder({"doctor", path("parts"), "--ranks", ranks});
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_THAT(outcome.out, HasSubstr("4 parts")) << outcome.out;
    }
}

TEST_F(RankVerbs, RefusesRanksThatDoNotDivideTheParts) {
    for (const char* ranks : {"3", "8"}) {
        const Outcome outcome = rudder({"doctor", path("parts"), "--ranks", ranks});
        EXPECT_EQ(outcome.code, 2);
        EXPECT_THAT(outcome.err, HasSubstr(fmt::format("{} ranks cannot share 4 parts", ranks)));
        EXPECT_THAT(outcome.err, HasSubstr("use 1, 2, 4 ranks"));
    }
}

TEST_F(RankVerbs, PartMissingOnOneRankIsNamedByAll) {
    std::filesystem::remove_all(folder_ / "parts" / "part-00001");
    const Outcome outcome = rudder({"doctor", path("parts"), "--ranks", "4"});
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rank 1: "));
    EXPECT_THAT(outcome.err, HasSubstr("part-00001"));
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 failed"));
}

TEST_F(RankVerbs, RefusesRanksOnDifferentData) {
    ASSERT_EQ(partition("others", "1"), 0);
    std::vector<std::string> words{"mpirun", "--oversubscribe"};
    if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
    for (const std::string& word :
         {std::string("-n"), std::string("1"), program().string(), std::string("doctor"),
          path("parts"), std::string(":"), std::string("-n"), std::string("1"), program().string(),
          std::string("doctor"), path("others")}) {
        words.push_back(word);
    }
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 differs from rank 0 in its data"));
}

}  // namespace
}  // namespace rudder::test
