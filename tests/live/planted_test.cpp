// Causes planted in runs on simulated ranks: each is named first, healthy runs have none, and what
// is predicted is what it would gain.
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/executor/executor.hpp"
#include "core/json.hpp"
#include "report/explain/findings.hpp"
#include "rudder/nn/model_registry.hpp"
#include "train/fixture.hpp"
#include "train/summary.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

constexpr int planted_ranks = 4;
/// What computing takes where time is simulated: of a batch, and of each of its rows.
constexpr auto batch_cost = 200us;
constexpr auto row_cost = 8us;

/// How fast ranks compute: as with so many threads.
double speed = 1;

/// GraphSAGE whose passes take as long as their rows.
class CostlyNetwork final : public nn::Network {
public:
    explicit CostlyNetwork(std::unique_ptr<nn::Network> inner) : inner_(std::move(inner)) {}

    std::span<float> weights() noexcept override { return inner_->weights(); }
    [[nodiscard]] std::span<const nn::Parameter> parameters() const noexcept override {
        return inner_->parameters();
    }
    [[nodiscard]] std::span<const nn::Bucket> buckets() const noexcept override {
        return inner_->buckets();
    }
    nn::BatchResult train(const sample::Batch& batch, const nn::InputRows& rows,
                          const nn::SeedTargets& targets, float weight, std::span<float> gradient,
                          FunctionRef<void(std::size_t)> ready) override {
        const Duration cost = batch_cost + row_cost * std::ssize(batch.vertices);
        Executor::current().sleep_for(
            Duration(static_cast<Duration::rep>(static_cast<double>(cost.count()) / speed)));
        return inner_->train(batch, rows, targets, weight, gradient, ready);
    }
    void predict(const sample::Batch& batch, const nn::InputRows& rows,
                 std::span<float> scores) override {
        Executor::current().sleep_for(row_cost * std::ssize(batch.vertices));
        inner_->predict(batch, rows, scores);
    }
    [[nodiscard]] std::size_t layers() const noexcept override { return inner_->layers(); }
    [[nodiscard]] std::size_t layer_inputs(std::size_t layer) const noexcept override {
        return inner_->layer_inputs(layer);
    }
    [[nodiscard]] std::size_t layer_outputs(std::size_t layer) const noexcept override {
        return inner_->layer_outputs(layer);
    }
    void infer_layer(std::size_t layer, const sample::Block& block,
                     std::span<const std::uint32_t> degrees, const nn::InputRows& sources,
                     std::span<float> out) override {
        Executor::current().sleep_for(40ms);
        inner_->infer_layer(layer, block, degrees, sources, out);
    }
    [[nodiscard]] std::uint64_t activation_bytes(const sample::Batch& batch) const override {
        return inner_->activation_bytes(batch);
    }

private:
    std::unique_ptr<nn::Network> inner_;
};

std::unique_ptr<nn::Network> make_costly(const nn::NetworkOptions& options) {
    nn::NetworkOptions plain = options;
    plain.model = "sage";
    return std::make_unique<CostlyNetwork>(nn::make_network(plain));
}

/// A run as it is planted.
struct Planted {
    train::TrainOptions options;
    double rate = 125e6;  ///< of the link, bytes per second
    int ranks_per_host = 1;
    bool skewed = false;  ///< half of the vertices in one part
    int threads = 2;
};

Planted healthy_plant() {
    static const bool once = [] {
        nn::register_model({.name = "costly", .make = make_costly});
        return true;
    }();
    static_cast<void>(once);
    Planted plant;
    plant.options = small_options();
    plant.options.model = "costly";
    plant.options.hidden = 4;
    plant.options.batch = 16;
    plant.options.epochs = 4;
    plant.options.eval_every = 0;
    plant.options.sampler = sample::Sampler::plain;
    plant.options.policy = "window:16";
    return plant;
}

const partition::PartitionedDataset& planted_data(bool skewed) {
    static const TempDir folder;
    static std::map<bool, partition::PartitionedDataset> made;
    auto found = made.find(skewed);
    if (found == made.end()) {
        SmallGraph graph{.vertices = 1600, .degree = 8, .width = 128, .parts = planted_ranks};
        if (skewed) {
            graph.part = [](VertexId v) {
                return v % 6 < 3 ? PartId{0} : static_cast<PartId>(v % 6 - 2);
            };
        }
        found =
            made.emplace(skewed, make_parts(folder / (skewed ? "skewed" : "even"), graph)).first;
    }
    return found->second;
}

/// What rank 0 was told.
struct PlantedBook final : train::TrainObserver {
    PlantedBook() : by_rank(planted_ranks) {}
    void records(std::span<const train::StepRecord> records) override {
        for (const train::StepRecord& record : records)
            by_rank[record.rank] += report::step_totals(record.seconds, record.rows, record.edges);
    }
    std::vector<report::RankTotals> by_rank;
    train::TrainResult result;
};

report::ExplainedRun run_plant(const Planted& plant) {
    const partition::PartitionedDataset& data = planted_data(plant.skewed);
    // With two threads a rank is as fast as the rule takes for granted.
    speed = plant.threads == 1 ? 1 / 1.7 : 1;
    PlantedBook book;
    comm::SimulatedCluster machines({.ranks = planted_ranks,
                                     .ranks_per_host = plant.ranks_per_host,
                                     .seed = 11,
                                     .link = {.delay = 50us, .bytes_per_second = plant.rate}});
    machines.run([&](const comm::Communicator& comm) {
        train::Trainer trainer(comm, data, plant.options);
        train::TrainObserver other;
        train::TrainResult result = trainer.run(comm.rank() == 0 ? book : other);
        if (comm.rank() == 0) book.result = std::move(result);
    });
    const train::RunFacts facts{.ranks = planted_ranks,
                                .hosts = planted_ranks / plant.ranks_per_host,
                                .parts = planted_ranks,
                                .data = "parts",
                                .link = fmt::format("50us,{:.0f}B", plant.rate),
                                .threads = plant.threads};
    train::Summary summary = train::summary_of(book.result, plant.options, facts);
    summary.seconds.cpu = 0;  // what simulating took is not what ranks would have taken
    return report::explained_run(report::EndedRun{.name = "planted",
                                                  .summary = summary,
                                                  .options = plant.options,
                                                  .by_rank = book.by_rank,
                                                  .cores = 2 * planted_ranks});
}

std::vector<std::string> causes_in(const std::vector<report::Finding>& findings) {
    std::vector<std::string> all;
    for (const report::Finding& one : findings)
        all.emplace_back(one.cause);
    return all;
}

/// Seconds per epoch of the healthy run.
double healthy_seconds() {
    static const double seconds = run_plant(healthy_plant()).total;
    return seconds;
}

/// What is predicted is what was measured, within 30 %; both are in the test's properties.
void expect_gain(const report::Finding& finding, double measured) {
    const double predicted = finding.gain.value_or(0);
    testing::Test::RecordProperty("predicted", fmt::format("{:.3f}", predicted));
    testing::Test::RecordProperty("measured", fmt::format("{:.3f}", measured));
    EXPECT_GT(measured, 0) << finding.cause;
    EXPECT_NEAR(predicted, measured, 0.3 * measured) << finding.cause;
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
