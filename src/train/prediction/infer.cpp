#include "rudder/train/infer.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/graph/dataset.hpp"
#include "train/evaluation/exact_input.hpp"
#include "train/input_rows.hpp"

#include "inference.hpp"

namespace rudder::train {

namespace {

constexpr std::size_t rows_at_once = 256;

void check_rows(const graph::FeatureView& rows) {
    const std::size_t bytes = rows.info.row_bytes();
    parallel_chunks(rows.rows, rows_at_once, [&](const Chunk& chunk) {
        graph::check_finite(
            rows.info, rows.bytes().subspan(chunk.begin * bytes, (chunk.end - chunk.begin) * bytes),
            chunk.begin, "rows");
    });
}

void check_graph(const graph::TopologyView& graph, VertexId rows) {
    if (graph.vertices() != rows) {
        throw input_error(fmt::format("{} rows for {} vertices", rows, graph.vertices()), "rows",
                          "give a row for every vertex");
    }
    if (rows == 0) return;
    if (graph.offsets.front() != 0) {
        throw input_error(fmt::format("the first offset is {}", graph.offsets.front()), "offsets",
                          "begin the offsets with 0");
    }
    static_cast<void>(narrow<std::uint32_t>(rows, "number of vertices"));
    static_cast<void>(narrow<std::uint32_t>(graph.edges(), "number of edges"));
    check_topology(graph, rows, "graph");
}

/// What one call works in: kept for the next.
class Desk {
public:
    explicit Desk(const SavedNetwork& saved) : saved_(saved) {}

    void infer(const graph::TopologyView& graph, const graph::FeatureView& rows, Answers& answers,
               Embeddings embeddings);

private:
    [[nodiscard]] nn::Network& network_for(const store::RowFormat& format);
    void place(const graph::TopologyView& graph, const nn::Network& network);
    [[nodiscard]] nn::InputRows load(const graph::FeatureView& rows,
                                     const store::RowFormat& format);
    void run_layer(nn::Network& network, std::size_t layer, const nn::InputRows& input,
                   std::span<float> out);

    const SavedNetwork& saved_;
    std::unique_ptr<nn::Network> dense_;
    std::unique_ptr<nn::Network> sparse_;
    sample::Block block_;
    RawVector<std::uint32_t> degrees_;
    std::shared_ptr<Array<float>> input_;
    std::shared_ptr<Array<float>> mapped_;
    std::array<std::shared_ptr<Array<float>>, 2> tables_;  ///< of hidden layers
};

store::RowFormat format_of(const SavedNetwork& saved, const graph::FeatureView& rows) {
    const store::SparseChoice choice = saved.train.sparse;
    const auto use = store::sparse_use(rows.info, store::count_for(rows, choice), choice,
                                       assembled_for(saved.options.model));
    return {rows.info, rows.scale, precision_elsewhere(saved.train.precision), std::nullopt, use};
}

nn::Network& Desk::network_for(const store::RowFormat& format) {
    auto& network = format.assembles_sparse() ? sparse_ : dense_;
    if (network == nullptr) network = network_of(saved_, sparse_inputs(format));
    return *network;
}

/// The whole graph as one block.
void Desk::place(const graph::TopologyView& graph, const nn::Network& network) {
    const auto vertices = static_cast<std::uint32_t>(graph.vertices());
    block_.destinations = vertices;
    block_.sources = vertices;
    block_.offsets.resize(graph.offsets.size());
    std::ranges::transform(graph.offsets, block_.offsets.begin(),
                           [](EdgeIndex offset) { return static_cast<std::uint32_t>(offset); });
    block_.neighbours.resize(graph.edges());
    graph.neighbours.visit([&](auto ids) {
        std::ranges::transform(ids, block_.neighbours.begin(),
                               [](auto id) { return static_cast<LocalId>(id); });
    });
    degrees_.clear();
    if (!network.wants_degrees()) return;
    for (std::uint32_t v = 0; v < vertices; ++v)
        degrees_.push_back(block_.offsets[v + std::size_t{1}] - block_.offsets[v]);
}

nn::InputRows Desk::load(const graph::FeatureView& rows, const store::RowFormat& format) {
    const std::size_t floats = format.row_floats();
    fit(input_, rows.rows * floats);
    parallel_chunks(rows.rows, rows_at_once, [&](const Chunk& chunk) {
        std::array<const std::byte*, rows_at_once> from{};
        std::array<VertexId, rows_at_once> vertices{};
        std::array<float*, rows_at_once> to{};
        for (std::size_t v = chunk.begin; v < chunk.end; ++v) {
            from[v - chunk.begin] = rows.row(v).data();
            vertices[v - chunk.begin] = v;
            to[v - chunk.begin] = input_->data() + v * floats;
        }
        const std::size_t count = chunk.end - chunk.begin;
        format.load_rows({from.data(), count}, {vertices.data(), count}, to.data());
    });
    return input_rows(format, input_->span().subspan(0, rows.rows * floats));
}

/// As exact inference computes a part that is a whole graph.
void Desk::run_layer(nn::Network& network, std::size_t layer, const nn::InputRows& input,
                     std::span<float> out) {
    nn::LayerRows rows{.sources = input, .own = input, .degrees = degrees_};
    if (network.maps_rows(layer)) {
        const std::size_t floats = block_.sources * network.layer_reads(layer);
        fit(mapped_, floats);
        const std::span<float> mapped = mapped_->span().subspan(0, floats);
        network.map_rows(layer, input, mapped);
        rows.sources = mapped;
    }
    network.infer_rows(layer, block_, rows, out);
}

void Desk::infer(const graph::TopologyView& graph, const graph::FeatureView& rows, Answers& answers,
                 Embeddings embeddings) {
    const std::size_t vertices = graph.vertices();
    if (vertices == 0) {
        answers = {.outputs = saved_.options.outputs};
        return;
    }
    const store::RowFormat format = format_of(saved_, rows);
    nn::Network& network = network_for(format);
    const std::size_t layers = network.layers();
    const bool keeps = embeddings == Embeddings::yes && layers > 1;
    answers.outputs = network.layer_outputs(layers - 1);
    answers.hidden = keeps ? network.layer_inputs(layers - 1) : 0;
    answers.scores.resize(vertices * answers.outputs);
    answers.embeddings.resize(vertices * answers.hidden);
    place(graph, network);
    nn::InputRows input = load(rows, format);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::size_t floats = vertices * network.layer_outputs(layer);
        std::span<float> out = answers.scores;
        if (layer + 2 == layers && keeps) {
            out = answers.embeddings;
        } else if (layer + 1 < layers) {
            fit(tables_[layer % 2], floats);
            out = tables_[layer % 2]->span().subspan(0, floats);
        }
        run_layer(network, layer, input, out);
        input = std::span<const float>(out);
    }
}

}  // namespace

std::size_t Answers::best(VertexId v) const noexcept {
    const auto scores_of = row(v);
    return static_cast<std::size_t>(std::ranges::max_element(scores_of) - scores_of.begin());
}

struct Model::State {
    SavedNetwork saved;
    std::mutex mutex;
    std::vector<std::unique_ptr<Desk>> free;  ///< that no call works at

    std::unique_ptr<Desk> take() {
        const std::scoped_lock lock(mutex);
        if (free.empty()) return std::make_unique<Desk>(saved);
        std::unique_ptr<Desk> desk = std::move(free.back());
        free.pop_back();
        return desk;
    }
    void give_back(std::unique_ptr<Desk> desk) {
        const std::scoped_lock lock(mutex);
        free.push_back(std::move(desk));
    }
    void check(const graph::FeatureView& rows) const;
};

void Model::State::check(const graph::FeatureView& rows) const {
    const graph::FeatureInfo& info = rows.info;
    if (info.width != saved.options.inputs) {
        throw input_error(fmt::format("rows of {} columns; the network takes {}", info.width,
                                      saved.options.inputs),
                          "rows", "give the columns that the network was trained on");
    }
    if (saved.trained_on && saved.trained_on->row_normalise != info.row_normalise) {
        throw input_error(saved.trained_on->row_normalise
                              ? "the network was trained on normalised rows"
                              : "the network was trained on rows that were not normalised",
                          "rows", "set row_normalise as it was, or make the view with rows()");
    }
    const std::size_t scales = info.type == ElementType::i8 ? info.width : 0;
    if (!graph::is_feature_type(info.type) || rows.scale.size() != scales) {
        throw input_error(
            fmt::format("rows of type {} with {} scales", to_string(info.type), rows.scale.size()),
            "rows", "use a type of data sets; int8 has a scale per column");
    }
    check_rows(rows);
}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Model Model::open(const std::filesystem::path& folder) {
    auto state = std::make_unique<State>();
    state->saved = load_network(folder);
    const TrainOptions& train = state->saved.train;
    if (train.weighted || train.edge_features || train.temporal != sample::Temporal::off) {
        const char* const option = train.weighted
                                       ? "--weighted"
                                       : (train.edge_features ? "--edge-features" : "--temporal");
        throw usage_error(fmt::format("the network was trained with {}, which graphs in memory do "
                                      "not have",
                                      option),
                          folder.string(), "write the graph as a data set, and use predict --data");
    }
    if (!train.embeddings.empty()) {
        throw usage_error(
            "the network reads rows that were learned for the vertices of its data "
            "set, which graphs in memory do not have",
            folder.string(), "use evaluate or predict");
    }
    static_cast<void>(network_of(state->saved, std::nullopt));  // what cannot be made fails here
    return Model(std::move(state));
}

const nn::NetworkOptions& Model::network() const noexcept {
    return state_->saved.options;
}

std::span<const std::string> Model::class_names() const noexcept {
    if (!state_->saved.trained_on) return {};
    return state_->saved.trained_on->class_names;
}

std::uint64_t Model::step() const noexcept {
    return state_->saved.step;
}

graph::FeatureView Model::rows(std::span<const float> values) const {
    const std::uint64_t width = network().inputs;
    if (width == 0 || values.size() % width != 0) {
        throw input_error(
            fmt::format("{} floats are not whole rows of {} columns", values.size(), width), "rows",
            "give the columns that the network was trained on");
    }
    const auto& trained = state_->saved.trained_on;
    return {.info = {.width = width,
                     .type = ElementType::f32,
                     .row_normalise = trained && trained->row_normalise},
            .rows = values.size() / width,
            .data = std::as_bytes(values).data(),
            .scale = {}};
}

void Model::infer(const graph::TopologyView& graph, const graph::FeatureView& rows,
                  Answers& answers, Embeddings embeddings) const {
    state_->check(rows);
    check_graph(graph, rows.rows);
    std::unique_ptr<Desk> desk = state_->take();
    desk->infer(graph, rows, answers, embeddings);
    state_->give_back(std::move(desk));
}

Answers infer(const Model& model, const graph::TopologyView& graph,
              const graph::FeatureView& rows) {
    Answers answers;
    model.infer(graph, rows, answers);
    return answers;
}

Answers infer(const Model& model, std::span<const graph::Edge> edges,
              const graph::FeatureView& rows, const graph::BuildOptions& options) {
    for (const graph::Edge& edge : edges) {
        if (edge.source < rows.rows && edge.target < rows.rows) continue;
        throw input_error(
            fmt::format("edge {} -> {}: {} rows were given", edge.source, edge.target, rows.rows),
            "edges", "give a row for every vertex");
    }
    const graph::BuiltTopology built =
        graph::build_topology(graph::EdgeSpan(rows.rows, edges), options);
    return infer(model, built.topology.view(), rows);
}

}  // namespace rudder::train
