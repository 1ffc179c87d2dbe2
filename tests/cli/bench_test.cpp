// bench, as users run it: what it measures and writes, what it says of a run, what it refuses.
#include "core/machine_profile.hpp"

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

class BenchCli : public CliTest {
protected:
    void make_parts() {
        ok({"generate", "sbm", "graph", "--vertices", "2000", "--seed", "5"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "random"});
    }
    /// The profile that was written, which its reader finds nothing wrong with.
    MachineProfile written(const std::string& name) const {
        return read_machine_profile((folder_ / name).string());
    }
};

TEST_F(BenchCli, OneRankMeasuresTheMachineAndWritesAProfile) {
    const Json answer =
        ok_json({"bench", "--quick", "--seconds", "0.5", "--threads", "2", "--out", "here.toml"});
    const MachineProfile profile = written("here.toml");
    EXPECT_FALSE(profile.network.has_value());
    EXPECT_FALSE(profile.machine.measured.empty());
    ASSERT_EQ(profile.compute.size(), 2U);
    EXPECT_EQ(profile.compute.back().threads, 2U);
    const Json& json = answer.at("profile");
    EXPECT_EQ(json.at("version"), 1);
    EXPECT_EQ(json.at("compute").at(0).at("product_flops_per_second"),
              profile.compute.front().product_flops_per_second);
    EXPECT_TRUE(json.at("network").is_null());
    EXPECT_TRUE(answer.at("for").is_null());
    // Within what a processor can do: a unit that is off by a thousand would show.
    EXPECT_GT(profile.compute.front().product_flops_per_second, 1e7);
    EXPECT_LT(profile.compute.front().product_flops_per_second, 1e13);
    EXPECT_GT(profile.compute.front().shared_edges_per_second, 1e4);
    EXPECT_LT(profile.compute.front().shared_edges_per_second, 1e10);
    EXPECT_GT(profile.compute.front().step_factor, 0.1);
}

TEST_F(BenchCli, TwoRanksMeasureTheNetworkToo) {
    if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
    make_parts();
    const Outcome outcome =
        rudder({"bench", "--quick", "--seconds", "0.5", "--ranks", "2", "--ranks-per-host", "1",
                "--threads", "1", "--for", "parts", "--out", "two.toml"},
               here());
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const MachineProfile profile = written("two.toml");
    ASSERT_TRUE(profile.network && profile.network->between);
    EXPECT_FALSE(profile.network->within.has_value());
    EXPECT_EQ(profile.network->all_ranks(), 2U);
    EXPECT_EQ(profile.network->carrier, "MPI");
    EXPECT_EQ(profile.compute.size(), 1U);
    EXPECT_THAT(outcome.out, HasSubstr("of two hosts"));
    EXPECT_THAT(outcome.out, HasSubstr("A step of parts: 2 ranks on 2 hosts, 1 thread each"));
    EXPECT_THAT(outcome.out, HasSubstr("what limits it: "));
}

TEST_F(BenchCli, SaysWhatLimitsARunByAProfile) {
    make_parts();
    const Json slow = ok_json({"bench", "--profile", "built-in:ethernet-1g", "--for", "parts",
                               "--batch", "100", "--hidden", "16", "--buffer", "0"});
    const Json& plan = slow.at("for");
    EXPECT_EQ(plan.at("ranks"), 2);
    EXPECT_EQ(plan.at("hosts"), 2);
    EXPECT_EQ(plan.at("batch"), 100);
    EXPECT_EQ(plan.at("limit"), "rows");
    const double rows = plan.at("work").at("fetched").get<double>();
    const double bytes = plan.at("work").at("row_bytes").get<double>();
    EXPECT_NEAR(plan.at("seconds").at("rows").get<double>(),
                2e-4 + rows * (bytes + 3) / (0.9 * 1e9 / 8), 1e-9);
    EXPECT_EQ(plan.at("advice").at(0).at("setting"), "--precision int8");

    const Json fast =
        ok_json({"bench", "--profile", "built-in:infiniband-100g", "--for", "parts", "--batch",
                 "100", "--hidden", "16", "--buffer", "0", "--threads", "1"});
    EXPECT_NE(fast.at("for").at("limit"), "rows");
    EXPECT_LT(fast.at("for").at("seconds").at("rows"), plan.at("seconds").at("rows"));
    EXPECT_EQ(fast.at("for").at("work"), plan.at("work"));
}

TEST_F(BenchCli, ABuiltInProfileIsWrittenAndReadAgain) {
    ok({"bench", "--profile", "built-in:ethernet-10g", "--out", "plan.toml"});
    EXPECT_EQ(ok({"bench", "--profile", "plan.toml"}),
              ok({"bench", "--profile", "built-in:ethernet-10g"}));
}

TEST_F(BenchCli, RefusesOptionsThatWouldDoNothing) {
    refuse({"bench", "--fanout", "5,5"}, 2, {"--fanout requires --for"});
    refuse({"bench", "--profile", "built-in:ethernet-1g", "--quick"}, 2,
           {"--profile and --quick exclude each other"});
    refuse({"bench", "--profile", "built-in:nothing"}, 2, {"built in are", "ethernet-10g"});
    refuse({"bench", "--for", "nowhere", "--quick"}, 3, {"nowhere"});
}

TEST_F(BenchCli, RefusesABadProfileByFileLineAndKey) {
    ok({"bench", "--profile", "built-in:ethernet-1g", "--out", "p.toml"});
    std::string text = bytes_of(folder_ / "p.toml");
    const std::string key = "messages_per_second = 200000.0";
    ASSERT_NE(text.find(key), std::string::npos);
    text.replace(text.find(key), key.size(), "messages_per_second = -2.0");
    const auto line =
        1 + std::count(
                text.begin(),
                text.begin() + static_cast<std::ptrdiff_t>(text.find("messages_per_second = -2.0")),
                '\n');
    write("bad.toml", text);
    refuse({"bench", "--profile", "bad.toml"}, 3,
           {"network.between.messages_per_second", "bad.toml, line " + std::to_string(line)});
}

TEST_F(BenchCli, KeepsAFileThatIsThereUnlessForced) {
    write("p.toml", "mine");
    refuse({"bench", "--profile", "built-in:ethernet-1g", "--out", "p.toml"}, 2,
           {"the output exists already"});
    EXPECT_EQ(bytes_of(folder_ / "p.toml"), "mine");
    ok({"bench", "--profile", "built-in:ethernet-1g", "--out", "p.toml", "--force"});
    EXPECT_EQ(written("p.toml").machine.name, "built-in:ethernet-1g");
}

}  // namespace
}  // namespace rudder::test
