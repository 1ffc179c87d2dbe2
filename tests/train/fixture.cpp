#include "train/fixture.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include "core/interrupt.hpp"
#include "graph/dataset_writer.hpp"
#include "graph/generate/generate.hpp"
#include "graph/generate/planted.hpp"
#include "partition/partition.hpp"
#include "rudder/core/random.hpp"
#include "train/checkpoints/checkpoint_keeper.hpp"

namespace rudder::test {

namespace {

void write_targets(graph::DatasetWriter& writer, const SmallGraph& graph,
                   std::span<const std::int32_t> labels) {
    graph::TargetInfo info{.kind = graph.targets,
                           .count = graph.classes,
                           .labelled = graph.vertices,
                           .names = graph.names};
    std::vector<std::uint8_t> multilabel;
    std::vector<float> regression;
    for (const std::int32_t label : labels) {
        for (std::uint64_t c = 0; c < graph.classes; ++c) {
            const bool on = static_cast<std::uint64_t>(label) == c;
            multilabel.push_back(on ? 1 : 0);
            regression.push_back(on ? 1.5F : -0.5F);
        }
    }
    graph::TargetView view;
    if (graph.targets == graph::TargetKind::classes) view.classes = labels;
    if (graph.targets == graph::TargetKind::multilabel) view.multilabel = multilabel;
    if (graph.targets == graph::TargetKind::regression) view.regression = regression;
    if (graph.targets != graph::TargetKind::none) writer.targets(info, view);
}

/// Counts of words: half of a row's are among those of its class. Row 2 is empty, row 5 as full as
/// any may be.
class WordCounts final : public graph::FeatureSource {
public:
    WordCounts(const SmallGraph& graph, std::span<const std::int32_t> labels)
        : graph_(graph), labels_(labels) {}
    [[nodiscard]] graph::FeatureInfo info() const override {
        return {.width = graph_.width, .type = ElementType::u8};
    }
    [[nodiscard]] VertexId rows() const override { return graph_.vertices; }
    [[nodiscard]] std::string where() const override { return "words"; }
    void walk(FunctionRef<void(std::span<const std::byte>)> block) const override {
        const RandomStream stream({.purpose = Purpose::test, .seed = graph_.seed});
        std::vector<std::byte> row(graph_.width);
        for (VertexId v = 0; v < graph_.vertices; ++v) {
            Draws draws(stream, v);
            std::ranges::fill(row, std::byte{0});
            const std::uint64_t count = v == 2   ? 0
                                        : v == 5 ? graph_.words
                                                 : draws.below(graph_.words + 1);
            const std::uint64_t share = graph_.width / graph_.classes;
            std::uint64_t words = 0;
            while (words < count) {
                const auto label = static_cast<std::uint64_t>(labels_[v]);
                const std::uint64_t column = draws.below(2) == 0
                                                 ? label * share + draws.below(share)
                                                 : draws.below(graph_.width);
                if (row[column] == std::byte{0}) ++words;
                row[column] = static_cast<std::byte>(1 + draws.below(graph_.most_of_a_word));
            }
            block(row);
        }
    }

private:
    const SmallGraph& graph_;
    std::span<const std::int32_t> labels_;
};

/// The same rows, each edge with a weight and a time where the graph is to have them, and with
/// rows of features, of which `features` gets one per edge.
graph::BuiltTopology carrying(const graph::TopologyView& rows, const SmallGraph& graph,
                              std::span<const std::int32_t> labels, std::vector<float>& features) {
    std::vector<graph::Edge> edges;
    std::vector<float> weights;
    std::vector<std::int64_t> times;
    for (VertexId v = 0; v < rows.vertices(); ++v) {
        for (EdgeIndex e = rows.offsets[v]; e < rows.offsets[v + 1]; ++e) {
            const VertexId u = rows.neighbours[e];
            if (u > v) continue;
            edges.push_back({u, v});
            weights.push_back(static_cast<float>((u * 7 + v * 13) % 5) / 2);
            times.push_back(static_cast<std::int64_t>((u * 31 + v * 17) % 100));
            for (std::uint64_t c = 0; c < graph.edge_width; ++c) {
                const auto column = static_cast<std::int32_t>(c);
                const int ends = (labels[u] == column ? 1 : 0) + (labels[v] == column ? 1 : 0);
                features.push_back(static_cast<float>(ends) +
                                   static_cast<float>((u * 5 + v * 3 + c) % 8) / 8);
            }
        }
    }
    const graph::EdgeSpan source(rows.vertices(), std::span<const graph::Edge>(edges));
    const bool with_rows = graph.edge_width > 0;
    if (!graph.carried) return graph::build_topology(source, {.rows = with_rows}, {});
    return graph::build_topology(source, {.weight = weights, .time = times, .rows = with_rows}, {});
}

/// Those of `carrying`.
void write_edge_features(graph::DatasetWriter& writer, const SmallGraph& graph,
                         const std::vector<float>& features, const graph::BuiltTopology& built) {
    if (graph.edge_width == 0) return;
    writer.edge_features({{.width = graph.edge_width},
                          features.size() / graph.edge_width,
                          std::as_bytes(std::span(features)).data(),
                          {}},
                         built.origin->span(), "test", Progress::none());
}

/// What edges of a graph are, by number.
struct EdgeList {
    std::vector<graph::Edge> edges;
    graph::TargetInfo info;
    std::vector<std::int32_t> classes;
    std::vector<std::uint8_t> multilabel;
    std::vector<float> regression;
    std::vector<graph::Role> roles;

    [[nodiscard]] graph::TargetView view() const { return {classes, multilabel, regression}; }
};

constexpr std::uint64_t edge_classes = 3;

/// Each edge once, with a target that follows from the classes of its vertices: of a directed graph
/// from their order, too.
EdgeList labelled_edges(const graph::TopologyView& rows, const SmallGraph& graph,
                        std::span<const std::int32_t> labels) {
    EdgeList list;
    list.info = {.kind = graph.edge_targets, .count = edge_classes, .names = {"x", "y", "z"}};
    for (VertexId v = 0; v < rows.vertices(); ++v) {
        for (EdgeIndex e = rows.offsets[v]; e < rows.offsets[v + 1]; ++e) {
            const VertexId u = rows.neighbours[e];
            if (u > v) continue;
            list.edges.push_back({u, v});
            const bool none = (u * 5 + v) % 11 == 0;
            const std::int32_t a = labels[u];
            const std::int32_t b = labels[v];
            const std::int32_t label = graph.directed ? (a == b  ? 0
                                                         : a < b ? 1
                                                                 : 2)
                                                      : (a + b) % static_cast<int>(edge_classes);
            list.classes.push_back(none ? graph::no_label : label);
            for (std::uint64_t c = 0; c < edge_classes; ++c) {
                const bool on = static_cast<std::uint64_t>(label) == c;
                list.multilabel.push_back(none ? graph::no_multilabel : on ? 1 : 0);
                list.regression.push_back(none ? std::numeric_limits<float>::quiet_NaN()
                                          : on ? 1.5F
                                               : -0.5F);
            }
            const auto turn = (u * 3 + v * 7) % 10;
            list.roles.push_back(turn == 0   ? graph::Role::none
                                 : turn <= 2 ? graph::Role::valid
                                 : turn <= 4 ? graph::Role::test
                                             : graph::Role::train);
        }
    }
    return list;
}

/// Late enough for most to have a past.
std::vector<std::int64_t> seed_times(VertexId vertices) {
    std::vector<std::int64_t> times;
    for (VertexId v = 0; v < vertices; ++v)
        times.push_back(static_cast<std::int64_t>(30 + v * 7 % 80));
    return times;
}

/// Interrupts after a step, as a signal would, and passes everything on.
class StopAfter final : public train::TrainObserver {
public:
    StopAfter(std::uint64_t step, std::unique_ptr<train::TrainObserver> other)
        : step_(step), other_(std::move(other)) {}
    void step_done(const train::StepRecord& record, std::uint64_t steps) override {
        if (record.step + 1 == step_) set_interrupted(true);
        if (other_) other_->step_done(record, steps);
    }
    void records(std::span<const train::StepRecord> records) override {
        if (other_) other_->records(records);
    }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        if (other_) other_->decisions(decisions);
    }
    void epoch_done(const train::EpochRecord& record, std::uint32_t epochs) override {
        if (other_) other_->epoch_done(record, epochs);
    }
    [[nodiscard]] std::uint64_t metrics_bytes() const override {
        return other_ ? other_->metrics_bytes() : 0;
    }

private:
    std::uint64_t step_;
    std::unique_ptr<train::TrainObserver> other_;
};

}  // namespace

partition::PartitionedDataset make_parts(const std::filesystem::path& folder,
                                         const SmallGraph& graph) {
    graph::GeneratorOptions options;
    options.vertices = graph.vertices;
    options.degree = graph.degree;
    options.classes = graph.classes;
    options.seed = graph.seed;
    const graph::PlantedCommunities generator(options);
    graph::BuiltTopology built = graph::generate_topology(generator, Progress::none());
    std::vector<float> edge_rows;
    if (graph.carried || graph.edge_width > 0)
        built = carrying(built.topology.view(), graph, generator.labels(), edge_rows);
    std::vector<PartId> assignment(graph.vertices);
    std::vector<graph::Role> roles(graph.vertices);
    for (VertexId v = 0; v < graph.vertices; ++v) {
        assignment[v] = graph.part ? graph.part(v) : static_cast<PartId>(v % graph.parts);
        const VertexId turn = v / graph.parts;
        roles[v] = graph.role      ? graph.role(assignment[v], v)
                   : turn % 2 == 0 ? graph::Role::train
                   : turn % 4 == 1 ? graph::Role::valid
                                   : graph::Role::test;
        if (generator.labels()[v] == graph.untrained_class && roles[v] == graph::Role::train)
            roles[v] = graph::Role::valid;
    }
    std::vector<std::int32_t> labels(generator.labels().begin(), generator.labels().end());
    for (std::int32_t& label : labels) {
        if (!graph.numbers.empty()) label = graph.numbers[static_cast<std::size_t>(label)];
    }
    EdgeList edges;
    const bool labelled = graph.edge_targets != graph::TargetKind::none;
    if (labelled || graph.edge_split) {
        edges = labelled_edges(built.topology.view(), graph, labels);
        built = graph::build_topology(
            graph::EdgeSpan(graph.vertices, std::span<const graph::Edge>(edges.edges)),
            {.rows = true}, {.symmetrise = !graph.directed, .keep_self_loops = true});
    }
    graph::DatasetWriter writer(folder / "graph", Existing::replace);
    writer.topology(built, !graph.directed);
    write_edge_features(writer, graph, edge_rows, built);
    if (labelled) writer.edge_targets(edges.info, edges.view(), built.origin->span());
    if (graph.edge_split) writer.edge_split(edges.roles, built.origin->span());
    if (graph.carried) writer.vertex_times(seed_times(graph.vertices));
    if (graph.width > 0) {
        const graph::PlantedFeatures features(generator.labels(), graph.width, 1.0,
                                              graph.feature_seed.value_or(graph.seed));
        const WordCounts words(graph, generator.labels());
        std::optional<ElementType> type;
        if (graph.type != ElementType::f32) type = graph.type;
        graph.words > 0 ? writer.features(words, type, graph.row_normalise, Progress::none())
                        : writer.features(features, type, graph.row_normalise, Progress::none());
    }
    write_targets(writer, graph, labels);
    if (graph.split) writer.split(roles);
    static_cast<void>(writer.commit({}));
    partition::PartitionOptions parts;
    parts.parts = graph.parts;
    parts.cluster_size = 16;
    partition::partition_dataset(graph::Dataset(folder / "graph"), assignment, folder / "parts",
                                 parts, Existing::replace);
    return partition::PartitionedDataset(folder / "parts");
}

train::TrainOptions small_options() {
    train::TrainOptions options;
    options.hidden = 16;
    options.fanout = {3, 4};
    options.batch = 16;
    options.epochs = 2;
    options.optimiser.learning_rate = 0.01;
    options.dropout = 0.3;
    options.seed = 7;
    return options;
}

Trained train_alone(const partition::PartitionedDataset& data, const train::TrainOptions& options) {
    train::Trainer trainer(comm::Communicator::local(), data, options);
    train::TrainObserver observer;
    Trained trained{trainer.run(observer), {}};
    trained.weights.assign(trainer.weights().begin(), trainer.weights().end());
    return trained;
}

std::vector<Trained> train_simulated(const partition::PartitionedDataset& data,
                                     const train::TrainOptions& options,
                                     const comm::SimulationOptions& cluster) {
    std::vector<Trained> ranks(static_cast<std::size_t>(cluster.ranks));
    comm::SimulatedCluster machines(cluster);
    machines.run([&](const comm::Communicator& comm) {
        train::Trainer trainer(comm, data, options);
        train::TrainObserver observer;
        Trained& mine = ranks[static_cast<std::size_t>(comm.rank())];
        mine.result = trainer.run(observer);
        mine.weights.assign(trainer.weights().begin(), trainer.weights().end());
    });
    return ranks;
}

std::vector<Trained> stretch(const partition::PartitionedDataset& data,
                             const train::TrainOptions& options, const std::filesystem::path& run,
                             int ranks, std::uint64_t stop_after, std::uint32_t every_epochs) {
    comm::SimulatedCluster machines({.ranks = ranks, .seed = stop_after});
    return stretch(data, options, run, machines, stop_after, {}, every_epochs);
}

std::vector<Trained> stretch(const partition::PartitionedDataset& data,
                             const train::TrainOptions& options, const std::filesystem::path& run,
                             comm::SimulatedCluster& machines, std::uint64_t stop_after,
                             const std::function<std::unique_ptr<train::TrainObserver>()>& observer,
                             std::uint32_t every_epochs) {
    struct Calm {
        ~Calm() { set_interrupted(false); }
    } const calm;
    std::vector<Trained> trained(static_cast<std::size_t>(machines.options().ranks));
    machines.run([&](const comm::Communicator& comm) {
        const bool first = comm.rank() == 0;
        train::Trainer trainer(comm, data, options);
        std::optional<train::CheckpointKeeper> keeper;
        const auto all = train::list_checkpoints(run);
        if (first) keeper.emplace(run);
        comm.barrier();  // all have looked before anyone writes
        if (!all.empty()) {
            std::optional<train::Checkpoint> last;
            if (first) last = train::read_checkpoint(all.back());
            trainer.resume(last ? &*last : nullptr);
        }
        train::CheckpointPlan plan;
        plan.wanted = true;
        plan.every_epochs = every_epochs;
        plan.keeper = keeper ? &*keeper : nullptr;
        StopAfter watches(first ? stop_after : 0, first && observer ? observer() : nullptr);
        Trained& mine = trained[static_cast<std::size_t>(comm.rank())];
        mine.result = trainer.run(watches, plan);
        mine.weights.assign(trainer.weights().begin(), trainer.weights().end());
    });
    return trained;
}

void expect_closed(const train::TrainResult& r) {
    EXPECT_EQ(r.rows.needed, r.rows.local + r.rows.hit + r.rows.demand);
    const auto features = r.bytes.features;
    const std::uint64_t fetched = (r.rows.demand + r.rows.replacement + r.rows.ahead) * r.row_bytes;
    const std::uint64_t plain = r.coding ? r.coding->features.plain : features;
    if (r.sparse &&
        r.coding) {  // without what fills rows up: the suite of the store knows how much that is
        EXPECT_LE(plain, fetched);
        EXPECT_EQ(plain == 0, fetched == 0);
    } else {
        EXPECT_EQ(plain, fetched);
    }
    if (r.coding) {
        EXPECT_EQ(r.coding->features.travelled, features);
        EXPECT_EQ(r.coding->gradients.travelled, r.bytes.gradients);
        EXPECT_LE(r.coding->topology.travelled, r.bytes.topology);
        EXPECT_LE(r.coding->evaluation.travelled, r.bytes.evaluation);
    }
    EXPECT_EQ(r.bytes.total(), r.received_total);
    EXPECT_EQ(r.received_total, r.sent_total);
}

}  // namespace rudder::test
