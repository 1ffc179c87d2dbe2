#include "planted_runs.hpp"

#include <array>
#include <chrono>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/executor/monitor.hpp"
#include "rudder/buffer/policy_registry.hpp"
#include "rudder/nn/model_registry.hpp"
#include "train/summary.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

/// What computing takes where time is simulated, with two threads: of a batch, and of each of its
/// rows.
constexpr auto batch_cost = 200us;
constexpr auto row_cost = 8us;
/// Of a thread's work, what a second one adds.
constexpr double second_thread = 0.7;

/// The cores that ranks share.
class Cores {
public:
    explicit Cores(int count) : free_(count) {}

    /// Whoever calls does so much on one core, in slices, so that others get on meanwhile.
    void work(Duration time) {
        for (Duration left = time; left > Duration::zero();) {
            const Duration slice = std::min<Duration>(left, 20us);
            take();
            Executor::current().sleep_for(slice);
            give(slice);
            left -= slice;
        }
    }
    [[nodiscard]] Duration worked() const noexcept { return worked_; }

private:
    /// In the order they come.
    void take() {
        Monitor::Lock lock(monitor_);
        const std::uint64_t ticket = next_++;
        monitor_.wait(lock, "a core", [&] { return free_ > 0 && ticket == served_; });
        --free_;
        ++served_;
        monitor_.notify_all();
    }
    void give(Duration slice) {
        Monitor::Lock lock(monitor_);
        ++free_;
        worked_ += slice;
        monitor_.notify_all();
    }

    Monitor monitor_;
    int free_;
    std::uint64_t next_ = 0;
    std::uint64_t served_ = 0;
    Duration worked_{0};
};

/// The machine of the run that is simulated now.
struct Machine {
    Cores* cores = nullptr;  ///< none: each rank has as many as it likes
    int threads = 2;
    Duration beside{0};
};
Machine machine;

/// So long with two threads.
void compute_for(Duration time) {
    const double slower = machine.threads == 1 ? 1 + second_thread : 1;
    const Duration each(static_cast<Duration::rep>(static_cast<double>(time.count()) * slower));
    if (machine.cores == nullptr) return Executor::current().sleep_for(each);
    Task second;
    if (machine.threads > 1)
        second = Executor::current().spawn("second thread", [each] { machine.cores->work(each); });
    machine.cores->work(each);
    if (second.valid()) second.join();
}

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
        compute_for(batch_cost + row_cost * std::ssize(batch.vertices));
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

constexpr std::array<SpecParameter, 1> costly_window{
    {{"window", ParameterKind::whole, 1, 1024, 16, "steps it looks ahead"}}};
const buffer::PolicyInfo costly_info{{.name = "costly-window",
                                      .sentence = "As window, and its turn takes a core.",
                                      .parameters = costly_window,
                                      .value = SpecValue::shown},
                                     /*paper=*/"a test"};

/// The look-ahead window, whose turn takes as long as the machine says.
class CostlyPolicy final : public buffer::Policy {
public:
    CostlyPolicy(std::unique_ptr<buffer::Policy> inner, const buffer::PolicyFacts& facts,
                 buffer::Residents& residents)
        : Policy(facts, residents), inner_(std::move(inner)) {}

    [[nodiscard]] std::unique_ptr<Policy> clone(const buffer::PolicyFacts& facts,
                                                buffer::Residents& residents) const override {
        return std::make_unique<CostlyPolicy>(inner_->clone(facts, residents), facts, residents);
    }
    [[nodiscard]] std::uint64_t horizon() const noexcept override { return inner_->horizon(); }
    void begin(std::uint64_t step, buffer::StepPlan& fill) override { inner_->begin(step, fill); }
    void look_ahead(std::uint64_t step, std::span<const buffer::RowKey> rows) override {
        inner_->look_ahead(step, rows);
    }
    void advance(std::uint64_t step, std::span<const buffer::RowKey> rows,
                 const buffer::Decision& decision, buffer::StepPlan& plan) override {
        if (machine.cores != nullptr) machine.cores->work(machine.beside);
        inner_->advance(step, rows, decision, plan);
    }
    void capacity_changed(std::uint64_t step, buffer::StepPlan& plan) override {
        inner_->capacity_changed(step, plan);
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return inner_->bytes(); }

private:
    std::unique_ptr<buffer::Policy> inner_;
};

std::unique_ptr<buffer::Policy> make_costly_policy(const buffer::PolicySpec& spec,
                                                   const buffer::PolicyFacts& facts,
                                                   buffer::Residents& residents) {
    const auto inner = buffer::PolicySpec::parse(fmt::format("window:{}", spec.whole("window")));
    return std::make_unique<CostlyPolicy>(buffer::make_policy(inner, facts, residents), facts,
                                          residents);
}

void register_costly() {
    static const bool once = [] {
        nn::register_model({.name = "costly", .make = make_costly});
        buffer::register_policy(costly_info, make_costly_policy);
        return true;
    }();
    static_cast<void>(once);
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

/// What the ranks of a cluster trained, as rank 0 was told.
PlantedBook train_planted(const Planted& plant) {
    const partition::PartitionedDataset& data = planted_data(plant.skewed);
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
    return book;
}

}  // namespace

Planted healthy_plant() {
    register_costly();
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

report::ExplainedRun run_plant(const Planted& plant) {
    Cores cores(plant.cores);
    machine = {plant.cores > 0 ? &cores : nullptr, plant.threads, plant.beside};
    PlantedBook book = train_planted(plant);
    machine = {};
    const train::RunFacts facts{.ranks = planted_ranks,
                                .hosts = planted_ranks / plant.ranks_per_host,
                                .parts = planted_ranks,
                                .data = "parts",
                                .link = fmt::format("50us,{:.0f}B", plant.rate),
                                .threads = plant.threads};
    train::Summary summary = train::summary_of(book.result, plant.options, facts);
    // Not what simulating took, but what ranks would have taken.
    summary.seconds.cpu = to_seconds(cores.worked());
    const partition::PartitionedDataset& data = planted_data(plant.skewed);
    const double balance = data.summary().train_balance;
    return report::explained_run(report::EndedRun{
        .name = "planted",
        .summary = summary,
        .options = plant.options,
        .by_rank = book.by_rank,
        .cores = plant.cores > 0 ? plant.cores : 2 * planted_ranks,
        .train_balance = balance,
        .seeds = balance * static_cast<double>(data.info().split.train) / planted_ranks});
}

std::vector<std::string> causes_in(const std::vector<report::Finding>& findings) {
    std::vector<std::string> all;
    for (const report::Finding& one : findings)
        all.emplace_back(one.cause);
    return all;
}

void expect_gain(const report::Finding& finding, double measured) {
    const double predicted = finding.gain.value_or(0);
    testing::Test::RecordProperty("predicted", fmt::format("{:.3f}", predicted));
    testing::Test::RecordProperty("measured", fmt::format("{:.3f}", measured));
    EXPECT_GT(measured, 0) << finding.cause;
    EXPECT_NEAR(predicted, measured, 0.3 * measured) << finding.cause;
}

}  // namespace rudder::test
