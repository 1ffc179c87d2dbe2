// train --profile: a file that trace viewers open, from every rank.
#include <map>
#include <set>

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

class ProfileOption : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "4", "--method", "ldg"});
    }
    /// A short run with more steps per epoch than are sampled ahead.
    Json train(const Words& more) {
        Words words{"train",    "parts",    "--epochs", "2",       "--batch", "6",
                    "--hidden", "16",       "--fanout", "4,6",     "--quiet", "--window",
                    "4",        "--buffer", "0.5",      "--ranks", "2",       "--ranks-per-host",
                    "1",        "--policy", "scored",   "--agent", "every:4"};
        words.insert(words.end(), more.begin(), more.end());
        return ok_json(words);
    }

    using Row = std::pair<int, int>;
    /// Complete events by row, in the order of their start.
    static std::map<Row, std::vector<Json>> rows(const Json& events) {
        std::map<Row, std::vector<Json>> rows;
        for (const Json& event : events)
            if (event.at("ph") == "X") rows[{event.at("pid"), event.at("tid")}].push_back(event);
        return rows;
    }
    static double start(const Json& event) { return event.at("ts").get<double>(); }
    static double end(const Json& event) { return start(event) + event.at("dur").get<double>(); }

    static void expect_nested(const std::vector<Json>& row) {
        constexpr double rounding = 0.0011;  // times are rounded to nanoseconds
        std::vector<double> open;
        for (const Json& event : row) {
            while (!open.empty() && open.back() <= start(event) + rounding)
                open.pop_back();
            EXPECT_TRUE(open.empty() || end(event) <= open.back() + rounding) << event;
            open.push_back(end(event));
        }
    }
};

TEST_F(ProfileOption, OpensInTraceViewersAndChangesNothing) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Json with = train({"--out", "run", "--profile"});
    const Json without = train({"--out", "plain"});
    EXPECT_EQ(with.at("loss").at("digest"), without.at("loss").at("digest"));
    EXPECT_FALSE(names_in(folder_ / "plain").contains("profile.json"));

    const Json profile = read_json(folder_ / "run/profile.json");
    EXPECT_EQ(profile.at("otherData").at("epoch"), 2);
    EXPECT_EQ(profile.at("otherData").at("dropped_events"), 0);
    const Json& events = profile.at("traceEvents");
    const auto steps = with.at("steps_per_epoch").get<std::uint64_t>();
    std::map<int, std::set<std::uint64_t>> computed;
    std::set<std::string> names;
    for (const auto& [row, list] : rows(events)) {
        expect_nested(list);
        for (const Json& event : list) {
            names.insert(event.at("name"));
            if (event.at("name") != "compute") continue;
            const auto step = event.at("args").at("step").get<std::uint64_t>();
            EXPECT_EQ(step / steps, 1U);
            EXPECT_TRUE(computed[row.first].insert(step).second) << step;
        }
    }
    ASSERT_EQ(computed.size(), 2U) << "both ranks";
    for (const auto& [rank, of_rank] : computed)
        EXPECT_EQ(of_rank.size(), steps) << rank;
    EXPECT_THAT(names, testing::IsSupersetOf({"step", "stall", "sample", "fetch", "buffer",
                                              "compute", "update", "reduce", "serve"}));

    std::map<std::string, std::pair<double, double>> flows;
    std::map<std::string, int> flow_names;
    for (const Json& event : events) {
        const std::string phase = event.at("ph");
        if (phase != "s" && phase != "f") continue;
        auto& flow = flows.try_emplace(event.at("id"), -1, -1).first->second;
        (phase == "s" ? flow.first : flow.second) = start(event);
        if (phase == "s") ++flow_names[event.at("name")];
    }
    for (const auto& [id, flow] : flows) {
        EXPECT_GE(flow.first, 0) << id;
        EXPECT_GE(flow.second, flow.first) << id;
    }
    EXPECT_GT(flow_names["rows"], static_cast<int>(steps));
    EXPECT_GT(flow_names["batch"], 0);
}

/// What tasks beside training do is in it where it ends within the epoch: of an epoch of
/// milliseconds it may have ended just before, or end just after. So more than one may be needed to
/// see all of it.
TEST_F(ProfileOption, ShowsWhatGoesOnBesideTraining) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const std::set<std::string> wanted{"checkpoint", "evaluate", "agent"};
    std::set<std::string> seen;
    for (int attempt = 0; attempt < 8 && seen != wanted; ++attempt) {
        static_cast<void>(train({"--out", "run", "--profile", "--force"}));
        const Json profile = read_json(folder_ / "run/profile.json");
        for (const Json& event : profile.at("traceEvents")) {
            const std::string name = event.at("name");
            if (event.at("ph") == "X" && wanted.contains(name)) seen.insert(name);
        }
    }
    EXPECT_EQ(seen, wanted);
}

TEST_F(ProfileOption, TheOnlyEpochIsTheOneUnlessAnotherIsAskedFor) {
    const Words words{"train", "parts",   "--batch", "40",    "--hidden",
                      "16",    "--quiet", "--force", "--out", "run"};
    const auto epoch = [&](const Words& more) {
        Words all = words;
        all.insert(all.end(), more.begin(), more.end());
        ok(all);
        return read_json(folder_ / "run/profile.json").at("otherData").at("epoch").get<int>();
    };
    EXPECT_EQ(epoch({"--profile", "--epochs", "1"}), 1);
    EXPECT_EQ(epoch({"--profile-epoch", "3", "--epochs", "3"}), 3);
}

TEST_F(ProfileOption, IsRefusedWithoutAFolderOrAnEpoch) {
    refuse({"train", "parts", "--profile"}, 2, {"--profile", "--out"});
    refuse({"train", "parts", "--epochs", "2", "--out", "run", "--profile-epoch", "3"}, 2,
           {"--profile-epoch", "3 of 2 epochs"});
    refuse({"compare", "parts", "--profile"}, 2, {"--profile"});
}

}  // namespace
}  // namespace rudder::test
