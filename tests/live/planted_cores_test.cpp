// Causes planted where ranks share few cores, which also do what steps need beside computing: what
// is mended ends where the cores have no time left.
#include <chrono>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "planted_runs.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

/// Four ranks with a thread each on so many cores, which a step's work beside computing has, too.
Planted busy_plant(int cores, Duration beside) {
    Planted plant = healthy_plant();
    plant.options.policy = "costly-window";
    plant.threads = 1;
    plant.cores = cores;
    plant.beside = beside;
    return plant;
}

/// The finding of a cause, which must be there.
report::Finding the_finding(const report::ExplainedRun& run, const std::string& cause) {
    const auto findings = report::findings_of(run);
    for (const report::Finding& one : findings)
        if (one.cause == cause) return one;
    ADD_FAILURE() << cause << " is not among " << testing::PrintToString(causes_in(findings));
    return {};
}

/// What the run is shorter after the change is predicted with the work of the cores, and is much
/// less than would be without it.
void expect_bound(const std::string& cause, const Planted& planted, const Planted& mended) {
    report::ExplainedRun run = run_plant(planted);
    const double measured = 1 - run_plant(mended).total / run.total;
    EXPECT_EQ(report::findings_of(run).front().cause, cause);
    expect_gain(the_finding(run, cause), measured);
    run.cpu = 0;
    EXPECT_GT(the_finding(run, cause).gain.value_or(0), 1.3 * measured) << cause;
}

TEST(PlantedCores, WorkIsWhatTheCoresDid) {
    const report::ExplainedRun run = run_plant(busy_plant(1, 1ms));
    ASSERT_TRUE(run.busy());
    EXPECT_GT(*run.busy(), 0.9) << "four ranks share one core";
    EXPECT_LE(*run.busy(), 1);
    EXPECT_FALSE(run_plant(healthy_plant()).busy()) << "nobody counts";
}

/// While it computes the others' rows are made ready on cores that it leaves alone.
TEST(PlantedCores, OneSlowHost) {
    const Planted mended = busy_plant(planted_ranks, 7ms);
    Planted planted = mended;
    planted.options.slow = "2:2";
    expect_bound("one slow host", planted, mended);
}

/// The second core of a rank is not idle: it makes rows ready.
TEST(PlantedCores, OneThread) {
    const Planted planted = busy_plant(2 * planted_ranks, 1ms);
    Planted mended = planted;
    mended.threads = 2;
    expect_bound("one thread", planted, mended);
}

/// Where ranks have fewer cores than they have threads, that is named, and no change of a part of
/// a step is promised: the cores have no time left.
TEST(PlantedCores, SharedCores) {
    const report::ExplainedRun run = run_plant(busy_plant(planted_ranks / 4, 0ms));
    const report::Finding found = the_finding(run, "shared cores");
    EXPECT_THAT(found.change, testing::StartsWith("fewer ranks or --threads: 4 threads compute"));
    EXPECT_LT(found.gain.value_or(1), 0.05);
}

}  // namespace
}  // namespace rudder::test
