// Causes planted in runs on simulated ranks: each is named first, healthy runs have none, and what
// is predicted is what it would gain.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "planted_runs.hpp"

namespace rudder::test {
namespace {

/// Seconds per epoch of the healthy run.
double healthy_seconds() {
    static const double seconds = run_plant(healthy_plant()).total;
    return seconds;
}

/// The cause is named first, and its gain is what the healthy run is shorter, within 30 %.
void expect_first(const std::string& cause, const Planted& plant) {
    const report::ExplainedRun run = run_plant(plant);
    const auto findings = report::findings_of(run);
    ASSERT_FALSE(findings.empty()) << cause;
    EXPECT_EQ(findings.front().cause, cause) << testing::PrintToString(causes_in(findings));
    if (!findings.front().gain || cause == "too few steps per epoch") return;
    expect_gain(findings.front(), 1 - healthy_seconds() / run.total);
}

TEST(PlantedCauses, NoneIsFoundInAHealthyRun) {
    const report::ExplainedRun run = run_plant(healthy_plant());
    EXPECT_THAT(causes_in(report::findings_of(run)), testing::IsEmpty());
}

TEST(PlantedCauses, ALinkAtATenth) {
    Planted plant = healthy_plant();
    plant.rate /= 10;
    expect_first("slow link", plant);
}

TEST(PlantedCauses, OneSlowHost) {
    Planted plant = healthy_plant();
    plant.options.slow = "2:3";
    expect_first("one slow host", plant);
}

TEST(PlantedCauses, SkewedParts) {
    Planted plant = healthy_plant();
    plant.skewed = true;
    expect_first("skewed parts", plant);
}

TEST(PlantedCauses, NoLookAhead) {
    Planted plant = healthy_plant();
    plant.options.policy = "none";
    const double overlapped = run_plant(plant).total;
    plant.options.in_flight = 1;
    const report::ExplainedRun run = run_plant(plant);
    const auto findings = report::findings_of(run);
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.front().cause, "no look-ahead");
    expect_gain(findings.front(), 1 - overlapped / run.total);
}

TEST(PlantedCauses, NoBuffer) {
    Planted plant = healthy_plant();
    plant.options.policy = "none";
    plant.rate /= 4;
    const report::ExplainedRun run = run_plant(plant);
    const auto findings = report::findings_of(run);
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.front().cause, "no buffer");
    Planted kept = healthy_plant();
    kept.rate = plant.rate;
    expect_gain(findings.front(), 1 - run_plant(kept).total / run.total);
}

TEST(PlantedCauses, OneThread) {
    Planted plant = healthy_plant();
    plant.threads = 1;
    expect_first("one thread", plant);
}

TEST(PlantedCauses, EvaluationEachStep) {
    Planted plant = healthy_plant();
    plant.options.batch = 200;  // all of a part
    plant.options.epochs = 30;
    plant.options.eval_every = 1;
    const report::ExplainedRun run = run_plant(plant);
    const auto findings = report::findings_of(run);
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.front().cause, "evaluation each step");
    plant.options.eval_every = 10;
    expect_gain(findings.front(), 1 - run_plant(plant).total / run.total);
    EXPECT_THAT(causes_in(findings), testing::Contains("too few steps per epoch"));
}

TEST(PlantedCauses, TinyBatches) {
    Planted plant = healthy_plant();
    plant.options.batch = 1;
    plant.options.epochs = 1;
    const report::ExplainedRun run = run_plant(plant);
    const auto findings = report::findings_of(run);
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.front().cause, "tiny batches");
    // As advised: "--batch 8 (another training: ...)".
    plant.options.batch = std::stoull(findings.front().change.substr(std::strlen("--batch ")));
    expect_gain(findings.front(), 1 - run_plant(plant).total / run.total);
}

TEST(PlantedCauses, OneHostSoThatNothingIsRemote) {
    Planted plant = healthy_plant();
    plant.ranks_per_host = planted_ranks;
    expect_first("one host", plant);
}

TEST(PlantedCauses, TooFewStepsPerEpoch) {
    Planted plant = healthy_plant();
    plant.options.batch = 200;
    plant.options.epochs = 10;
    expect_first("too few steps per epoch", plant);
}

using PlantOne = void (*)(Planted&);

/// What is planted together with another cause, so strongly that neither hides the other.
const std::map<std::string, PlantOne>& pair_plants() {
    static const std::map<std::string, PlantOne> all{
        {"slow link", [](Planted& plant) { plant.rate /= 30; }},
        {"one slow host", [](Planted& plant) { plant.options.slow = "2:4"; }},
        {"skewed parts", [](Planted& plant) { plant.skewed = true; }},
        {"no look-ahead",
         [](Planted& plant) {
             plant.options.policy = "none";
             plant.options.in_flight = 1;
         }},
        {"no buffer",
         [](Planted& plant) {
             plant.options.policy = "none";
             plant.rate /= 20;
         }},
        {"one thread", [](Planted& plant) { plant.threads = 1; }},
        {"evaluation each step",
         [](Planted& plant) {
             plant.options.batch = 200;
             plant.options.epochs = 10;
             plant.options.eval_every = 1;
         }},
        {"tiny batches",
         [](Planted& plant) {
             plant.options.batch = 1;
             plant.options.epochs = 1;
         }},
        {"one host", [](Planted& plant) { plant.ranks_per_host = planted_ranks; }},
        {"too few steps per epoch",
         [](Planted& plant) {
             plant.options.batch = 200;
             plant.options.epochs = 10;
         }},
    };
    return all;
}

/// Why no run has both; empty: it can.
std::string why_apart(const std::string& a, const std::string& b) {
    const auto pair = [&](const std::string& one, const std::string& other) {
        return (a == one && b == other) || (a == other && b == one);
    };
    for (const char* network : {"slow link", "no look-ahead", "no buffer"})
        if (pair("one host", network)) return "nothing is remote";
    if (pair("tiny batches", "too few steps per epoch")) return "an epoch has many steps or few";
    if (pair("tiny batches", "evaluation each step")) return "evaluation comes after whole epochs";
    return {};
}

TEST(PlantedCauses, PairsAreBothNamed) {
    for (const auto& [a, plant_a] : pair_plants()) {
        for (const auto& [b, plant_b] : pair_plants()) {
            if (a >= b || !why_apart(a, b).empty()) continue;
            Planted plant = healthy_plant();
            plant_a(plant);
            plant_b(plant);
            EXPECT_THAT(causes_in(report::findings_of(run_plant(plant))),
                        testing::IsSupersetOf({a, b}))
                << a << " and " << b;
        }
    }
}

}  // namespace
}  // namespace rudder::test
