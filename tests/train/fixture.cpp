#include "train/fixture.hpp"

#include <limits>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include "rudder/core/interrupt.hpp"
#include "rudder/core/random.hpp"
#include "rudder/graph/dataset_writer.hpp"
#include "rudder/graph/generate/generate.hpp"
#include "rudder/graph/generate/planted.hpp"
#include "rudder/partition/partition.hpp"
#include "rudder/train/checkpoint_keeper.hpp"

namespace rudder::test {

namespace {

void write_targets(DatasetWriter& writer, const SmallGraph& graph,
                   std::span<const std::int32_t> labels) {
    TargetInfo info{
        .kind = graph.targets, .count = graph.classes, .labelled = graph.vertices, .names = {}};
    std::vector<std::uint8_t> multilabel;
    std::vector<float> regression;
    for (const std::int32_t label : labels) {
        for (std::uint64_t c = 0; c < graph.classes; ++c) {
            const bool on = static_cast<std::uint64_t>(label) == c;
            multilabel.push_back(on ? 1 : 0);
            regression.push_back(on ? 1.5F : -0.5F);
        }
    }
    TargetView view;
    if (graph.targets == TargetKind::classes) view.classes = labels;
    if (graph.targets == TargetKind::multilabel) view.multilabel = multilabel;
    if (graph.targets == TargetKind::regression) view.regression = regression;
    if (graph.targets != TargetKind::none) writer.targets(info, view);
}

/// Interrupts after a step, as a signal would.
class StopAfter final : public TrainObserver {
public:
    explicit StopAfter(std::uint64_t step) : step_(step) {}
    void step_done(const StepRecord& record, std::uint64_t) override {
        if (record.step + 1 == step_) set_interrupted(true);
    }

private:
    std::uint64_t step_;
};

}  // namespace

PartitionedDataset make_parts(const std::filesystem::path& folder, const SmallGraph& graph) {
    GeneratorOptions options;
    options.vertices = graph.vertices;
    options.degree = graph.degree;
    options.classes = graph.classes;
    options.seed = graph.seed;
    const PlantedCommunities generator(options);
    const BuiltTopology built = generate_topology(generator, Progress::none());
    std::vector<PartId> assignment(graph.vertices);
    std::vector<Role> roles(graph.vertices);
    for (VertexId v = 0; v < graph.vertices; ++v) {
        assignment[v] = graph.part ? graph.part(v) : static_cast<PartId>(v % graph.parts);
        const VertexId turn = v / graph.parts;
        roles[v] = graph.role      ? graph.role(assignment[v], v)
                   : turn % 2 == 0 ? Role::train
                   : turn % 4 == 1 ? Role::valid
                                   : Role::test;
        if (generator.labels()[v] == graph.untrained_class && roles[v] == Role::train)
            roles[v] = Role::valid;
    }
    DatasetWriter writer(folder / "graph", Existing::replace);
    writer.topology(built, true);
    const PlantedFeatures features(generator.labels(), graph.width, 1.0, graph.seed);
    std::optional<ElementType> type;
    if (graph.type != ElementType::f32) type = graph.type;
    writer.features(features, type, false, Progress::none());
    write_targets(writer, graph, generator.labels());
    writer.split(roles);
    static_cast<void>(writer.commit({}));
    PartitionOptions parts;
    parts.parts = graph.parts;
    parts.cluster_size = 16;
    partition_dataset(Dataset(folder / "graph"), assignment, folder / "parts", parts,
                      Existing::replace);
    return PartitionedDataset(folder / "parts");
}

TrainOptions small_options() {
    TrainOptions options;
    options.hidden = 16;
    options.fanout = {3, 4};
    options.batch = 16;
    options.epochs = 2;
    options.optimiser.learning_rate = 0.01;
    options.dropout = 0.3;
    options.seed = 7;
    return options;
}

Trained train_alone(const PartitionedDataset& data, const TrainOptions& options) {
    Trainer trainer(Communicator::local(), data, options);
    TrainObserver observer;
    Trained trained{trainer.run(observer), {}};
    trained.weights.assign(trainer.weights().begin(), trainer.weights().end());
    return trained;
}

std::vector<Trained> train_simulated(const PartitionedDataset& data, const TrainOptions& options,
                                     const SimulationOptions& cluster) {
    std::vector<Trained> ranks(static_cast<std::size_t>(cluster.ranks));
    SimulatedCluster machines(cluster);
    machines.run([&](const Communicator& comm) {
        Trainer trainer(comm, data, options);
        TrainObserver observer;
        Trained& mine = ranks[static_cast<std::size_t>(comm.rank())];
        mine.result = trainer.run(observer);
        mine.weights.assign(trainer.weights().begin(), trainer.weights().end());
    });
    return ranks;
}

std::vector<Trained> stretch(const PartitionedDataset& data, const TrainOptions& options,
                             const std::filesystem::path& run, int ranks,
                             std::uint64_t stop_after) {
    std::vector<Trained> trained(static_cast<std::size_t>(ranks));
    SimulatedCluster machines({.ranks = ranks, .seed = stop_after});
    machines.run([&](const Communicator& comm) {
        Trainer trainer(comm, data, options);
        std::optional<CheckpointKeeper> keeper;
        const auto all = list_checkpoints(run);
        if (comm.rank() == 0) keeper.emplace(run);
        comm.barrier();  // all have looked before anyone writes
        if (!all.empty()) {
            std::optional<Checkpoint> last;
            if (comm.rank() == 0) last = read_checkpoint(all.back());
            trainer.resume(last ? &*last : nullptr);
        }
        CheckpointPlan plan;
        plan.wanted = true;
        plan.every_epochs = 1;
        plan.keeper = keeper ? &*keeper : nullptr;
        StopAfter observer(comm.rank() == 0 ? stop_after : 0);
        Trained& mine = trained[static_cast<std::size_t>(comm.rank())];
        mine.result = trainer.run(observer, plan);
        mine.weights.assign(trainer.weights().begin(), trainer.weights().end());
    });
    set_interrupted(false);
    return trained;
}

void expect_closed(const TrainResult& r) {
    EXPECT_EQ(r.rows.needed, r.rows.local + r.rows.hit + r.rows.demand);
    const auto features = r.bytes[static_cast<std::size_t>(Kind::features)];
    EXPECT_EQ((r.rows.demand + r.rows.replacement + r.rows.ahead) * r.row_bytes, features);
    EXPECT_EQ(std::accumulate(r.bytes.begin(), r.bytes.end(), std::uint64_t{0}), r.received_total);
    EXPECT_EQ(r.received_total, r.sent_total);
}

}  // namespace rudder::test
