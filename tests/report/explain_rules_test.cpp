// Every rule of findings at its threshold, with evidence and gains that were computed by hand.
#include <gmock/gmock.h>

#include "core/json.hpp"

#include "explain/explanation.hpp"
#include "explain/rules.hpp"

namespace rudder::test {
namespace {

using report::Confidence;
using report::ExplainedRun;
using report::Finding;
using report::MaybeFinding;
using testing::HasSubstr;
using testing::StartsWith;

constexpr double ms = 1e-3;

/// 100 steps of 10 ms on four hosts, and nothing but steps: a share of a step is one of the run.
ExplainedRun plain_steps() {
    ExplainedRun run;
    run.ranks = run.hosts = run.machine_ranks = run.cores = 4;
    run.threads = 1;
    run.batch = 1000;
    run.steps = 100;
    run.epochs = 5;
    run.steps_per_epoch = 20;
    run.policy = "window:16";
    run.agent = "bandit";
    run.buffered = true;
    run.window = 16;
    run.in_flight = 2;
    run.step = {.step = 10 * ms,
                .compute = 6 * ms,
                .wait_rows = 1 * ms,
                .wait_gradients = 1 * ms,
                .wait_ranks = 1 * ms,
                .rest = 1 * ms};
    run.total = 1;
    run.remote = 4000;
    for (int rank = 0; rank < 4; ++rank)
        run.pace.push_back({"rank " + std::to_string(rank), 6 * ms, 2000});
    return run;
}

/// A modelled link on which a host's bytes of a step take so long.
void set_wire(ExplainedRun& run, double seconds, double rows = 1) {
    run.modelled = report::LinkFacts{1e-4, 1e6};
    run.wire_bytes = seconds * run.modelled->rate * run.hosts * run.steps;
    run.feature_bytes = rows * run.wire_bytes;
}

void set_wait(ExplainedRun& run, double seconds) {
    run.step.step += seconds - run.step.wait_rows;
    run.step.wait_rows = seconds;
    run.total = run.steps * run.step.step;
}

/// What was found, which must be something.
Finding the(const MaybeFinding& found) {
    EXPECT_TRUE(found);
    return found.value_or(Finding{});
}

double gain_of(const MaybeFinding& found) {
    const Finding one = the(found);
    EXPECT_TRUE(one.gain);
    return one.gain.value_or(-1);
}

std::string seen(const MaybeFinding& found, const std::string& metric) {
    for (const report::Evidence& one : the(found).evidence)
        if (one.metric == metric) return one.text + " in " + one.file;
    return "nothing";
}

TEST(FindingRules, GainsAreOfTheRunNotOfItsSteps) {
    ExplainedRun run = plain_steps();
    EXPECT_DOUBLE_EQ(report::gain_of_step(run, 2 * ms), 0.2);
    run.total = 4;  // three quarters of it are no steps
    EXPECT_DOUBLE_EQ(report::gain_of_step(run, 2 * ms), 0.05);
    run.total = 0.5;  // clocks of ranks and of the run differ: never more than the step's share
    EXPECT_DOUBLE_EQ(report::gain_of_step(run, 2 * ms), 0.2);
    EXPECT_EQ(report::gain_of_step(run, -1 * ms), 0);
    EXPECT_EQ(report::gain_of_step(run, 20 * ms), 1);
}

TEST(FindingRules, FewStepsAreTrustedLess) {
    ExplainedRun run = plain_steps();
    const auto both = [&](double steps) {
        run.steps = steps;
        return std::pair(report::confidence_in(run, true), report::confidence_in(run, false));
    };
    EXPECT_EQ(both(9), std::pair(Confidence::low, Confidence::low));
    EXPECT_EQ(both(10), std::pair(Confidence::medium, Confidence::medium));
    EXPECT_EQ(both(49), std::pair(Confidence::medium, Confidence::medium));
    EXPECT_EQ(both(50), std::pair(Confidence::high, Confidence::medium));
}

TEST(FindingRules, SlowLinkWhereTheWireTakesAFifthLongerThanAllElse) {
    ExplainedRun run = plain_steps();  // 8 ms do not wait for the network
    set_wire(run, 9.59 * ms);
    EXPECT_FALSE(report::find_slow_link(run));
    set_wire(run, 9.61 * ms);
    const auto found = report::find_slow_link(run);
    EXPECT_NEAR(gain_of(found), 0.2, 1e-12) << "10 ms less the 8 that are left";
    EXPECT_EQ(the(found).confidence, Confidence::high);
    EXPECT_THAT(the(found).text, HasSubstr("at 0.83 of the rate"));
    EXPECT_EQ(seen(found, "link rate, MB/s"), "1 in summary.json");
    EXPECT_EQ(seen(found, "seconds.wait_rows"), "1.00 ms of a step, 10 % in summary.json");
    // Ten times the rate is still the limit where the wire takes long enough.
    set_wait(run, 191 * ms);
    set_wire(run, 200 * ms);
    EXPECT_NEAR(gain_of(report::find_slow_link(run)), (200.0 - 20) / 200, 1e-12);
    run.hosts = 1;
    EXPECT_FALSE(report::find_slow_link(run)) << "nothing is remote";
}

TEST(FindingRules, WhatABufferWouldSaveIsNotTheLinks) {
    ExplainedRun run = plain_steps();
    run.buffered = false;
    set_wait(run, 21 * ms);  // a step of 30 ms
    set_wire(run, 24 * ms, 0.8);
    // Half of the rows would go, which are 0.8 of the bytes: 24 x 0.6 = 14.4 ms are left.
    EXPECT_NEAR(gain_of(report::find_slow_link(run)), (14.4 - 8) / 30, 1e-12);
    const auto buffer = report::find_no_buffer(run);
    EXPECT_NEAR(gain_of(buffer), (30 - 14.4) / 30, 1e-12);
    EXPECT_EQ(the(buffer).confidence, Confidence::medium) << "an estimate, however many steps";
    EXPECT_THAT(the(buffer).text, HasSubstr("all 10 remote rows of a step"));  // 4000 / 100 / 4
    set_wire(run, 15 * ms, 0.8);  // 9 ms with a buffer: no longer too slow
    EXPECT_FALSE(report::find_slow_link(run));
}

/// Rows that are learned travel whatever is kept or fetched early, and are not rounded.
TEST(FindingRules, LearnedRowsAreSavedByNoBuffer) {
    ExplainedRun run = plain_steps();
    run.buffered = false;
    set_wait(run, 21 * ms);  // a step of 30 ms
    set_wire(run, 24 * ms, 0.8);
    run.learned = 3000;  // of 4000 rows, so that a buffer saves 24 x 0.8 / 2 / 4 = 2.4 ms
    const auto buffer = report::find_no_buffer(run);
    EXPECT_NEAR(gain_of(buffer), (30 - 21.6) / 30, 1e-12);
    EXPECT_THAT(the(buffer).text, HasSubstr("all 2 remote rows of a step"));
    EXPECT_THAT(the(report::find_slow_link(run)).change, testing::Not(HasSubstr("precision")));
    run.in_flight = 1;
    EXPECT_TRUE(report::find_no_look_ahead(run));
    run.learned = 4000;
    EXPECT_FALSE(report::find_no_buffer(run));
    EXPECT_FALSE(report::find_no_look_ahead(run));
}

TEST(FindingRules, AnUnknownNetworkIsBlamedFromTwoFifthsOn) {
    ExplainedRun run = plain_steps();
    run.machine_ranks = 1;
    set_wait(run, 5.01 * ms);  // and 1 ms for gradients: of 14.01
    const auto found = report::find_slow_link(run);
    EXPECT_NEAR(gain_of(found), 0.9 * 6.01 / 14.01, 1e-12);
    EXPECT_EQ(the(found).confidence, Confidence::low);
    ExplainedRun less = run;
    set_wait(less, 4.3 * ms);  // 5.3 of 13.3 are less than 0.4
    EXPECT_FALSE(report::find_slow_link(less));
    less = run;
    less.machine_ranks = 4;
    EXPECT_FALSE(report::find_slow_link(less)) << "on one machine there is no network";
    less = run;
    less.window = 1;
    EXPECT_FALSE(report::find_slow_link(less)) << "it may be that nobody looked ahead";
}

TEST(FindingRules, NoLookAheadFromATwentiethOfAStepOn) {
    ExplainedRun run = plain_steps();
    EXPECT_FALSE(report::find_no_look_ahead(run));
    run.window = 1;
    EXPECT_NEAR(gain_of(report::find_no_look_ahead(run)), 0.1, 1e-12);
    EXPECT_EQ(the(report::find_no_look_ahead(run)).confidence, Confidence::medium)
        << "what the wire needs is not known";
    set_wire(run, 9.5 * ms);
    EXPECT_NEAR(gain_of(report::find_no_look_ahead(run)), 0.05, 1e-12)
        << "what the wire needs cannot be hidden";
    EXPECT_EQ(the(report::find_no_look_ahead(run)).confidence, Confidence::high);
    set_wait(run, 0.47 * ms);
    EXPECT_FALSE(report::find_no_look_ahead(run));
    set_wait(run, 0.48 * ms);  // of 9.48: a twentieth is 0.474
    EXPECT_TRUE(report::find_no_look_ahead(run));
    run.window = 16;
    run.in_flight = 1;
    EXPECT_EQ(seen(report::find_no_look_ahead(run), "in-flight"), "1 in config.toml");
    run.in_flight = 2;
    run.buffered = false;
    run.window = 0;
    EXPECT_FALSE(report::find_no_look_ahead(run)) << "without a buffer there is no window";
}

TEST(FindingRules, WaitingForSamplingIsNotWaitingForRows) {
    ExplainedRun run = plain_steps();
    run.profile = report::ProfileTimes{.steps = 20,
                                       .step = 10 * ms,
                                       .stall = 4 * ms,
                                       .sampling = {1 * ms, 0},
                                       .policy = {0.5 * ms, 0},
                                       .assembling = {0.5 * ms, 0}};
    EXPECT_DOUBLE_EQ(run.wait_of_rows(), 0.75 * ms);
    EXPECT_DOUBLE_EQ(run.wait_of_network(), 0.5 * ms);
    run.profile->sampling.waited = 9 * ms;  // more than all stalls: of another epoch
    EXPECT_EQ(run.wait_of_rows(), 0);
    run.profile->stall = 0;
    EXPECT_DOUBLE_EQ(run.wait_of_rows(), 1 * ms);
}

TEST(FindingRules, AgentsThatAreWaitedForOrCostRows) {
    ExplainedRun run = plain_steps();
    run.step.wait_agent = 0.49 * ms;
    EXPECT_FALSE(report::find_waiting_agent(run));
    run.step.wait_agent = 0.51 * ms;
    EXPECT_NEAR(gain_of(report::find_waiting_agent(run)), 0.051, 1e-12);
    EXPECT_THAT(the(report::find_waiting_agent(run)).text, HasSubstr("until bandit has answered"));
    EXPECT_FALSE(report::find_costly_agent(run)) << "not measured";
    run.excess = 0.019;
    EXPECT_FALSE(report::find_costly_agent(run));
    run.excess = 0.25;  // a fifth of what it fetches is too much
    EXPECT_NEAR(gain_of(report::find_costly_agent(run)), 0.02, 1e-12);
    EXPECT_EQ(seen(report::find_costly_agent(run), "agent.excess"), "0.25 in summary.json");
    EXPECT_EQ(the(report::find_costly_agent(run)).confidence, Confidence::medium);
}

TEST(FindingRules, OneHostCostsNoTime) {
    ExplainedRun run = plain_steps();
    run.hosts = 1;
    EXPECT_FALSE(report::find_one_host(run)) << "rows that are remote are of other hosts";
    run.remote = 0;
    const auto found = report::find_one_host(run);
    EXPECT_FALSE(the(found).gain);
    EXPECT_THAT(the(found).change, StartsWith("--ranks-per-host 1"));
    run.ranks = 1;
    EXPECT_THAT(the(report::find_one_host(run)).change, StartsWith("--ranks 4 --ranks-per-host 1"));
    EXPECT_TRUE(report::finding_json(the(found)).at("gain").is_null());
}

TEST(FindingRules, ASlowHostTakesThreeTenthsLongerForAnEdge) {
    ExplainedRun run = plain_steps();
    run.pace[2].compute = 6 * 1.29 * ms;
    EXPECT_FALSE(report::find_slow_host(run));
    run.pace[2].compute = 6 * 1.4 * ms;
    const auto found = report::find_slow_host(run);
    EXPECT_NEAR(gain_of(found), 0.24, 1e-12);
    EXPECT_THAT(the(found).text, HasSubstr("rank 2 takes 1.40 times as long"));
    EXPECT_EQ(seen(found, "seconds.compute of rank 2"), "8.40 ms of a step in metrics.jsonl");
    EXPECT_EQ(seen(found, "edges per step of rank 2"), "2000 in metrics.jsonl");
    EXPECT_NEAR(report::uneven_compute(run), 2.4 * ms, 1e-12);
    // A slow one with half of the edges is done when the others are: nobody waits for it.
    run.pace[2] = {"rank 2", 6 * ms, 1000};
    EXPECT_FALSE(report::find_slow_host(run));
    // A tenth of what does not wait for the network (8 ms) is what is worth a word.
    for (auto& one : run.pace)
        one = {one.name, 1 * ms, 2000};
    run.pace[1].compute = 1.79 * ms;
    EXPECT_FALSE(report::find_slow_host(run));
    run.pace[1].compute = 1.81 * ms;
    EXPECT_NEAR(gain_of(report::find_slow_host(run)), 0.081, 1e-12);
    run.pace.resize(1);
    EXPECT_FALSE(report::find_slow_host(run));
}

TEST(FindingRules, SkewedPartsHaveAFifthMoreEdgesThanTheMean) {
    ExplainedRun run = plain_steps();
    const auto with = [&](double edges) {
        run.pace[3] = {"rank 3", 6 * ms * edges / 2000, edges};  // as fast as the others
        return report::find_skewed_parts(run);
    };
    EXPECT_FALSE(with(2570)) << "of a mean of 2142.5";
    EXPECT_TRUE(with(2573));
    run.train_balance = 1.5;
    const auto found = with(3000);  // 9 ms; the mean is 6.75
    EXPECT_NEAR(gain_of(found), 0.225, 1e-12);
    EXPECT_THAT(the(found).text, HasSubstr("rank 3 has 1.33 times the mean edges"));
    EXPECT_EQ(seen(found, "edges per step, mean over ranks"), "2250 in metrics.jsonl");
    EXPECT_EQ(seen(found, "partition.train_balance"), "1.5 in run.json");
    EXPECT_FALSE(report::find_slow_host(run)) << "it is not slow for its edges";
}

/// Batches are of a part: where one has most seeds, even parts make fewer steps, in each of which
/// all compute what it computes now.
TEST(FindingRules, EvenPartsHaveFewerSteps) {
    ExplainedRun run = plain_steps();
    const auto line = [](double edges) { return 3 * ms + edges / 1000 * ms; };
    for (auto& one : run.pace)
        one = {one.name, line(1000), 1000};
    run.pace[3] = {"rank 3", line(3000), 3000};  // 6 ms; the mean is 4.5 ms of 1500 edges
    EXPECT_NEAR(gain_of(report::find_skewed_parts(run)), 0.15, 1e-12) << "seeds are not known";
    run.train_balance = 2;
    run.seeds = 20'000;  // 20 steps of 1000; even parts have 10
    const auto found = report::find_skewed_parts(run);
    EXPECT_NEAR(gain_of(found), 0.5, 1e-12) << "half of the steps, as long as they are now";
    EXPECT_THAT(the(found).formula, HasSubstr("/ 2, wire, work), 2 = steps of an epoch / those"));
    run.seeds = 21'000;  // 21 steps; even parts have 11: batches of 1500 x 21 / 11 edges
    EXPECT_NEAR(gain_of(report::find_skewed_parts(run)),
                1 - (4 * ms + line(1500.0 * 21 / 11)) / (10 * ms) * 11 / 21, 1e-12);
    run.train_balance = 1;  // more edges at as many seeds
    EXPECT_NEAR(gain_of(report::find_skewed_parts(run)), 0.15, 1e-12);
    run.train_balance = 2;
    run.seeds = 900;  // one step, whatever the parts are
    EXPECT_NEAR(gain_of(report::find_skewed_parts(run)), 0.15, 1e-12);
    run.seeds = 20'000;
    set_wire(run, 8 * ms);
    EXPECT_NEAR(gain_of(report::find_skewed_parts(run)), 0.2, 1e-12) << "as many bytes in all";
    // A rank that has most edges and computes no longer says nothing of what edges cost.
    run.pace[3].compute = 4 * ms;
    EXPECT_FALSE(report::find_skewed_parts(run));
}

TEST(FindingRules, RanksThatWaitForCoresAreComparedWithLittleTrust) {
    ExplainedRun run = plain_steps();
    run.pace[3] = {"rank 3", 9 * ms, 3000};
    const double computed = run.step.compute * run.steps * run.machine_ranks;
    run.cpu = computed / 1.49;
    EXPECT_EQ(the(report::find_skewed_parts(run)).confidence, Confidence::high);
    run.cpu = computed / 1.51;
    EXPECT_EQ(the(report::find_skewed_parts(run)).confidence, Confidence::low);
    run.pace[3] = {"rank 3", 9 * ms, 2000};
    EXPECT_EQ(the(report::find_slow_host(run)).confidence, Confidence::low);
    run.cpu = 0;
    EXPECT_EQ(the(report::find_slow_host(run)).confidence, Confidence::high);
}

TEST(FindingRules, OneThreadWhereCoresAreIdle) {
    ExplainedRun run = plain_steps();
    run.cores = 7;
    EXPECT_FALSE(report::find_one_thread(run)) << "not two for each rank";
    run.cores = 8;
    EXPECT_NEAR(gain_of(report::find_one_thread(run)), 0.6 * (1 - 1 / 1.7), 1e-12);
    EXPECT_EQ(the(report::find_one_thread(run)).change, "--threads 2");
    run.cores = 19;
    EXPECT_NEAR(gain_of(report::find_one_thread(run)), 0.6 * (1 - 1 / 3.1), 1e-12);
    EXPECT_EQ(the(report::find_one_thread(run)).change, "--threads 4");
    EXPECT_THAT(the(report::find_one_thread(run)).formula,
                HasSubstr("saved = compute x (1 - 1 / yield), yield = 1 + 0.7 x (4 - 1)"));
    run.step.compute = 1.1 * ms;  // 0.745 ms less: below a tenth of 8
    EXPECT_FALSE(report::find_one_thread(run));
    run = plain_steps();
    run.cores = 8;
    run.threads = 2;
    EXPECT_FALSE(report::find_one_thread(run));
}

TEST(FindingRules, EvaluationByHowOftenItIs) {
    ExplainedRun run = plain_steps();
    run.evaluation = 0.5;
    EXPECT_FALSE(report::find_evaluation(run)) << "there was none";
    run.evaluations = 50;  // every second step
    run.evaluation = 0.033;
    EXPECT_FALSE(report::find_evaluation(run));
    run.evaluation = 0.034;
    EXPECT_NEAR(gain_of(report::find_evaluation(run)), 0.034 * 0.9, 1e-12);
    run.evaluations = 40;
    EXPECT_FALSE(report::find_evaluation(run));
    run.evaluation = 0.299;
    EXPECT_FALSE(report::find_evaluation(run));
    run.evaluation = 0.31;
    const auto found = report::find_evaluation(run);
    EXPECT_NEAR(gain_of(found), 0.279, 1e-12);
    EXPECT_THAT(the(found).text, HasSubstr("40 evaluations in 100 steps take 31 % of the run"));
    run.auto_evaluation = true;
    EXPECT_FALSE(report::find_evaluation(run)) << "its share is bounded";
}

TEST(FindingRules, TinyBatchesPayForEveryStep) {
    ExplainedRun run = plain_steps();
    run.batch = 50;
    run.steps_per_epoch = 99;
    EXPECT_FALSE(report::find_tiny_batches(run));
    run.steps_per_epoch = 100;
    // 4 ms that every step costs, five times as seldom.
    const auto found = report::find_tiny_batches(run);
    EXPECT_NEAR(gain_of(found), 0.4 * (1 - 1 / 5.0), 1e-12);
    EXPECT_THAT(the(found).change, StartsWith("--batch 250 "));
    EXPECT_THAT(the(found).formula, HasSubstr("rest + wait_rows) x (1 - 1 / 5)"));
    run.empty_compute = 2 * ms;
    EXPECT_NEAR(gain_of(report::find_tiny_batches(run)), 0.6 * 0.8, 1e-12);
    run.empty_compute = 60 * ms;  // not more than all computing
    EXPECT_NEAR(gain_of(report::find_tiny_batches(run)), 1.0 * 0.8, 1e-12);
    run.empty_compute.reset();
    set_wire(run, 5.1 * ms);  // the wire is busy: rows are waited for whatever the batch is
    EXPECT_NEAR(gain_of(report::find_tiny_batches(run)), 0.3 * 0.8, 1e-12);
    run.steps_per_epoch = 100000;  // no more than a usual batch
    EXPECT_THAT(the(report::find_tiny_batches(run)).change, StartsWith("--batch 1000 "));
    run.batch = 64;
    EXPECT_TRUE(report::find_tiny_batches(run));
    run.batch = 65;
    EXPECT_FALSE(report::find_tiny_batches(run));
}

TEST(FindingRules, CoresThatOthersUseWhileARankComputes) {
    ExplainedRun run = plain_steps();
    EXPECT_FALSE(report::find_shared_cores(run)) << "nobody counted CPU time";
    const double computed = run.step.compute * run.steps * run.machine_ranks;
    run.cpu = computed / 1.49;
    EXPECT_FALSE(report::find_shared_cores(run));
    run.cpu = computed / 4;
    const auto found = report::find_shared_cores(run);
    EXPECT_NEAR(gain_of(found),
                run.share(run.step.compute * 0.75) * run.steps * run.step.step / run.total, 1e-12);
    EXPECT_THAT(the(found).change, testing::StartsWith("see what else runs"));
    run.threads = 1 + run.cores;
    EXPECT_THAT(the(report::find_shared_cores(run)).change, testing::StartsWith("fewer ranks"));
    run.made_slow = true;
    EXPECT_FALSE(report::find_shared_cores(run)) << "a slow rank sleeps";
}

TEST(FindingRules, TooFewStepsLeaveTimeBetweenThem) {
    ExplainedRun run = plain_steps();
    run.steps_per_epoch = 10;
    EXPECT_FALSE(report::find_few_steps(run));
    run.steps_per_epoch = 5;
    run.total = 2;
    run.evaluation = 0.4;  // 0.6 s are neither steps nor evaluation
    const auto found = report::find_few_steps(run);
    EXPECT_NEAR(gain_of(found), 0.3 * 0.75, 1e-12);
    EXPECT_EQ(the(found).change, "--batch 250: about 20 steps per epoch");
    EXPECT_THAT(the(found).text, HasSubstr("takes 30 % of the run"));
    // A batch that no part can fill: a twentieth of it would be no more steps.
    run.batch = 1'000'000;
    run.seeds = 4860;
    EXPECT_EQ(the(report::find_few_steps(run)).change, "--batch 243: about 20 steps per epoch");
    run.seeds.reset();
    run.batch = 0;
    EXPECT_EQ(the(report::find_few_steps(run)).change,
              "a --batch that gives about 20 steps per epoch");
    run.epochs = 0;
    EXPECT_FALSE(report::find_few_steps(run));
}

/// A profile of steps of 20 ms, twice those of the run.
ExplainedRun steps_with_profile() {
    ExplainedRun run = plain_steps();
    run.profile = report::ProfileTimes{.steps = 20, .step = 20 * ms, .stall = 8 * ms};
    return run;
}

TEST(FindingRules, SlowSamplingByAProfile) {
    ExplainedRun run = steps_with_profile();
    run.profile->sampling = {1.99 * ms, 30 * ms};
    EXPECT_FALSE(report::find_slow_sampling(run)) << "less than a tenth";
    run.profile->sampling = {4 * ms, 30 * ms};
    // Two at a time take 15 ms, less than the 16 that are left; 4 of 20 ms go.
    const auto found = report::find_slow_sampling(run);
    EXPECT_NEAR(gain_of(found), 0.2, 1e-12);
    EXPECT_EQ(the(found).confidence, Confidence::medium);
    EXPECT_EQ(seen(found, "stall, waiting for sample"), "4.00 ms of a step, 20 % in profile.json");
    EXPECT_EQ(seen(found, "sample"), "30.00 ms for one step in profile.json");
    EXPECT_THAT(the(found).change, HasSubstr("on a machine with as many cores"));
    run.profile->sampling.work = 36 * ms;  // 18 ms: the sampler stays the limit
    EXPECT_NEAR(gain_of(report::find_slow_sampling(run)), 0.1, 1e-12);
    run.sample_tasks = 3;
    run.cores = 24;
    EXPECT_EQ(the(report::find_slow_sampling(run)).change, "--sample-tasks 6");
    EXPECT_NEAR(gain_of(report::find_slow_sampling(run)), 0.2, 1e-12);
    run.profile->steps = 4;
    EXPECT_FALSE(report::find_slow_sampling(run)) << "too few steps were profiled";
}

TEST(FindingRules, SlowAssemblingAndPolicyByAProfile) {
    ExplainedRun run = steps_with_profile();
    run.profile->assembling = {5 * ms, 20 * ms};
    EXPECT_NEAR(gain_of(report::find_slow_assembling(run)), 0.25, 1e-12);
    EXPECT_EQ(the(report::find_slow_assembling(run)).change, "--in-flight 4");
    run.in_flight = 1;
    run.profile->assembling.work = 34 * ms;  // two at a time: 17 ms
    EXPECT_NEAR(gain_of(report::find_slow_assembling(run)), 0.15, 1e-12);
    EXPECT_FALSE(report::find_slow_policy(run));
    run.profile->policy = {3 * ms, 100 * ms};
    EXPECT_NEAR(gain_of(report::find_slow_policy(run)), 0.15, 1e-12)
        << "another policy's turn is not known to take any time";
    EXPECT_EQ(the(report::find_slow_policy(run)).formula,
              "waiting for buffer in the profiled epoch");
}

TEST(FindingRules, EvaluationBesideTrainingByAProfile) {
    ExplainedRun run = steps_with_profile();
    run.profile->compute_alone = 10 * ms;
    run.profile->compute_beside = 20 * ms;
    run.profile->beside = 0.5;
    run.epochs = 10;
    run.evaluations = 5;  // 10 ms x 0.5 x 0.5 = 2.5 ms of 20
    EXPECT_NEAR(gain_of(report::find_evaluation_beside(run)), 0.125 * 0.9, 1e-12);
    EXPECT_THAT(the(report::find_evaluation_beside(run)).text,
                HasSubstr("take 2.00 times as long"));
    run.evaluations = 3;  // 1.5 ms: not worth a word
    EXPECT_FALSE(report::find_evaluation_beside(run));
    run.evaluations = 20;  // more than once per epoch is as often as each
    EXPECT_NEAR(gain_of(report::find_evaluation_beside(run)), 0.25 * 0.9, 1e-12);
    for (const double all_or_none : {0.0, 1.0}) {
        run.profile->beside = all_or_none;
        EXPECT_FALSE(report::find_evaluation_beside(run)) << "there is nothing to compare with";
    }
}

}  // namespace
}  // namespace rudder::test
