// What a profile says of the stage that steps waited for, and the findings that follow from it.
#include <gmock/gmock.h>

#include "core/json.hpp"
#include "report/profile.hpp"
#include "report/run/read_parts.hpp"
#include "rudder/core/error.hpp"

#include "explain/findings.hpp"
#include "profiled_steps.hpp"
#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using report::Finding;
using report::ProfileTimes;

ProfileTimes times_of(const RunProfile& profile) {
    const TempDir folder;
    report::write_profile(profile, folder / "profile.json");
    return report::read_profile_times(folder / "profile.json").value();
}

ProfileTimes times_of(const ProfiledStep& each) {
    return times_of(RunProfile{1, {profiled_steps(20, each)}});
}

TEST(ProfiledTimes, AreDividedByTheStageThatWasLate) {
    const ProfileTimes t = times_of({.before_fetch = 3'000'000, .messages = 2'000'000});
    EXPECT_EQ(t.steps, 20);
    EXPECT_NEAR(t.step, 0.010, 1e-9);
    EXPECT_NEAR(t.stall, 0.006, 1e-9);
    EXPECT_NEAR(t.sampling.waited, 0.003, 1e-9);
    EXPECT_NEAR(t.sampling.work, 0.003, 1e-9);
    EXPECT_NEAR(t.network, 0.002, 1e-9);
    EXPECT_NEAR(t.assembling.waited, 0.001, 1e-9);
    EXPECT_NEAR(t.assembling.work, 0.001, 1e-9);
    EXPECT_EQ(t.policy.waited, 0);
    EXPECT_EQ(t.beside, 0);
    const ProfileTimes turn = times_of({.before_fetch = 3'000'000, .policy = true});
    EXPECT_EQ(turn.sampling.waited, 0);
    EXPECT_NEAR(turn.policy.waited, 0.003, 1e-9);
    EXPECT_NEAR(turn.policy.work, 0.003, 1e-9);
    const ProfileTimes other =
        times_of({.before_fetch = 3'000'000, .waiting = "a free place for the next step"});
    EXPECT_EQ(other.sampling.waited + other.policy.waited, 0) << "of steps before this one";
}

TEST(ProfiledTimes, AreMeansOverRanks) {
    const ProfileTimes t = times_of(RunProfile{1,
                                               {profiled_steps(10, {.before_fetch = 3'000'000}),
                                                profiled_steps(10, {.before_fetch = 1'000'000})}});
    EXPECT_EQ(t.steps, 10);
    EXPECT_NEAR(t.sampling.waited, 0.002, 1e-9);
}

/// Two threads that wait for the same are late once.
TEST(ProfiledTimes, AMomentCountsOnce) {
    RankProfile rank = profiled_steps(10, {.before_fetch = 3'000'000});
    rank.threads.push_back(rank.threads[2]);
    EXPECT_NEAR(times_of(RunProfile{1, {rank}}).sampling.waited, 0.003, 1e-9);
}

TEST(ProfiledTimes, OfStepsWhoseMakingIsNotInItThereAreNone) {
    RankProfile rank = profiled_steps(10, {});
    rank.threads.erase(rank.threads.begin() + 1);
    const TempDir folder;
    report::write_profile({1, {rank}}, folder / "profile.json");
    EXPECT_FALSE(report::read_profile_times(folder / "profile.json"));
    EXPECT_FALSE(report::profile_of_run(folder.path()));
    EXPECT_FALSE(report::profile_of_run(folder / "nothing"));
    EXPECT_FALSE(report::profile_of_run(""));
    write_file(folder / "profile.json", "[]");
    EXPECT_THROW((void)report::read_profile_times(folder / "profile.json"), Error);
    EXPECT_FALSE(report::profile_of_run(folder.path())) << "explain says it";
}

TEST(ProfiledTimes, ComputingBesideEvaluationIsToldApart) {
    const ProfileTimes t = times_of({.slow_from = 15, .slow_by = 4'000'000});
    EXPECT_NEAR(t.compute_alone, 0.004, 1e-9);
    EXPECT_NEAR(t.compute_beside, 0.008, 1e-9);
    EXPECT_NEAR(t.beside, 0.25, 1e-12);
}

/// A run of steps as the profile has them, in a folder.
std::vector<Finding> findings_with(const ProfiledStep& each, double steps = 20) {
    const TempDir folder;
    write_fake_run(folder.path());
    report::write_profile({1, {profiled_steps(static_cast<std::uint64_t>(steps), each)}},
                          folder / "profile.json");
    const auto data = report::read_run(folder.path(), report::ReadDepth::averages);
    report::ExplainedRun run = report::explained_run(data);
    const ProfileTimes& seen = run.profile.value();
    run.step = {.step = seen.step, .compute = seen.compute_alone, .wait_rows = seen.stall};
    run.steps = 1000;
    run.steps_per_epoch = 100;
    run.epochs = 10;
    run.evaluations = 10;
    run.total = run.steps * run.step.step;
    run.pace.clear();
    run.threads = 4;
    run.cores = 16;
    return report::findings_of(run);
}

const Finding* find(const std::vector<Finding>& all, std::string_view cause) {
    const auto found = std::ranges::find(all, cause, &Finding::cause);
    return found == all.end() ? nullptr : &*found;
}

TEST(ExplainProfile, NothingIsFoundWhereNoStageIsLate) {
    for (const char* cause :
         {"slow sampling", "slow assembling", "slow policy", "evaluation during training"})
        EXPECT_EQ(find(findings_with({.copying = 100'000}), cause), nullptr) << cause;
}

TEST(ExplainProfile, SlowSamplingIsNamedFirstWithItsGain) {
    // A step of 20 ms of which 15 wait for a sample; two at a time take 7.5 ms for each.
    const auto all = findings_with({.before_fetch = 15'000'000});
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all[0].cause, "slow sampling");
    EXPECT_EQ(all[0].change, "--sample-tasks 2");
    EXPECT_NEAR(all[0].gain.value_or(0), (20 - 7.5) / 20, 1e-9);
    ASSERT_EQ(all[0].evidence.size(), 3U);
    EXPECT_EQ(all[0].evidence[0].metric, "stall, waiting for sample");
    EXPECT_NEAR(all[0].evidence[0].value, 15, 1e-6);
    EXPECT_EQ(all[0].evidence[0].text, "15.00 ms of a step, 75 %");
    EXPECT_EQ(all[0].evidence[0].file, "profile.json");
    EXPECT_EQ(find(all, "no look-ahead"), nullptr) << "rows were not what was late";
    EXPECT_EQ(find(all, "slow link"), nullptr);
    EXPECT_EQ(find(findings_with({.before_fetch = 15'000'000}, 3), "slow sampling"), nullptr)
        << "of three steps nothing is said";
}

TEST(ExplainProfile, SlowAssemblingSlowPolicyAndEvaluationBesideAreNamed) {
    const auto copying = findings_with({.copying = 12'000'000});
    const Finding* found = find(copying, "slow assembling");
    ASSERT_NE(found, nullptr);
    EXPECT_THAT(found->change, testing::StartsWith("--in-flight "));
    const auto turns = findings_with({.before_fetch = 3'000'000, .policy = true});
    found = find(turns, "slow policy");
    ASSERT_NE(found, nullptr);
    EXPECT_NEAR(found->gain.value_or(0), 3. / 8, 1e-9) << "of a step of 8 ms";
    // Half of the steps compute for 12 ms instead of 4: 4 ms of 9 in the mean, a tenth stays.
    const auto beside = findings_with({.slow_from = 10, .slow_by = 8'000'000});
    found = find(beside, "evaluation during training");
    ASSERT_NE(found, nullptr);
    EXPECT_NEAR(found->gain.value_or(0), 0.9 * 4 / 9, 1e-9);
    EXPECT_THAT(found->text, testing::HasSubstr("50 % of the steps of an evaluated epoch"));
}

}  // namespace
}  // namespace rudder::test
