#include "fixture.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "graph/dataset_writer.hpp"
#include "rudder/core/random.hpp"

#include "support/random_graph.hpp"

namespace rudder::test {

TestGraph make_graph(VertexId vertices, const std::vector<graph::Edge>& edges,
                     VertexId train_every) {
    TestGraph graph;
    graph.topology = graph::build_topology(graph::EdgeSpan(vertices, edges), {}).topology;
    graph.roles.assign(vertices, graph::Role::none);
    if (train_every != 0) {
        for (VertexId v = 0; v < vertices; v += train_every)
            graph.roles[v] = graph::Role::train;
    }
    return graph;
}

TestGraph cliques(VertexId count, VertexId size) {
    std::vector<graph::Edge> edges;
    for (VertexId c = 0; c < count; ++c) {
        for (VertexId a = 0; a < size; ++a) {
            for (VertexId b = 0; b < a; ++b)
                edges.push_back({c * size + a, c * size + b});
        }
        edges.push_back({c * size, (c + 1) % count * size});
    }
    return make_graph(count * size, edges);
}

TestGraph scattered(std::uint64_t seed, VertexId vertices, VertexId degree) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 1);
    std::vector<graph::Edge> edges;
    for (VertexId i = 0; i < vertices * degree / 2; ++i) {
        const VertexId source = draws.below(vertices);
        // Half of the edges stay near, so that there is something to find.
        const VertexId target =
            draws.below(2) == 0 ? draws.below(vertices) : (source + 1 + draws.below(8)) % vertices;
        edges.push_back({source, target});
    }
    return make_graph(vertices, edges);
}

double naive_cut(const graph::TopologyView& graph, std::span<const PartId> parts) {
    std::uint64_t crossing = 0;
    const auto rows = rows_of(graph);
    for (VertexId v = 0; v < rows.size(); ++v) {
        for (const VertexId u : rows[v])
            crossing += parts[u] != parts[v] ? 1U : 0U;
    }
    return graph.edges() == 0 ? 0
                              : static_cast<double>(crossing) / static_cast<double>(graph.edges());
}

namespace {

/// Rows of any type whose bytes are a known pattern of small numbers.
class PatternFeatures final : public graph::FeatureSource {
public:
    PatternFeatures(VertexId rows, const graph::FeatureInfo& info)
        : rows_(rows), info_(info), scale_(info.type == ElementType::i8 ? info.width : 0, 0.5F) {}
    [[nodiscard]] graph::FeatureInfo info() const override { return info_; }
    [[nodiscard]] VertexId rows() const override { return rows_; }
    [[nodiscard]] std::span<const float> scale() const override { return scale_; }
    [[nodiscard]] std::string where() const override { return "test"; }
    void walk(FunctionRef<void(std::span<const std::byte>)> block) const override {
        std::vector<std::byte> bytes(rows_ * info_.row_bytes());
        for (std::size_t i = 0; i < bytes.size(); i += element_size(info_.type)) {
            bytes[i] = static_cast<std::byte>(i * 37 % 100);
        }
        block(bytes);
    }

private:
    VertexId rows_;
    graph::FeatureInfo info_;
    std::vector<float> scale_;
};

void write_targets(graph::DatasetWriter& writer, Draws& draws, graph::TargetKind kind, VertexId n) {
    if (kind == graph::TargetKind::none) return;
    graph::TargetInfo info{.kind = kind, .count = 3, .labelled = 0, .names = {}};
    std::vector<std::int32_t> classes;
    std::vector<std::uint8_t> multilabel;
    std::vector<float> regression;
    if (kind == graph::TargetKind::classes) info.names = {"a", "b c", "d"};
    for (VertexId v = 0; v < n; ++v) {
        const bool labelled = draws.below(4) != 0;
        if (labelled) ++info.labelled;
        if (kind == graph::TargetKind::classes) {
            classes.push_back(labelled ? static_cast<std::int32_t>(draws.below(3))
                                       : graph::no_label);
        }
        for (int c = 0; c < 3; ++c) {
            if (kind == graph::TargetKind::multilabel) {
                multilabel.push_back(labelled ? static_cast<std::uint8_t>(draws.below(2))
                                              : graph::no_multilabel);
            }
            if (kind == graph::TargetKind::regression) {
                regression.push_back(labelled ? static_cast<float>(draws.uniform())
                                              : std::numeric_limits<float>::quiet_NaN());
            }
        }
    }
    writer.targets(info, {classes, multilabel, regression});
}

/// Targets of edges, of which some have none.
void write_edge_targets(graph::DatasetWriter& writer, const DatasetShape& shape, Draws& draws,
                        std::span<const EdgeIndex> origin) {
    const std::size_t edges = origin.empty() ? 0 : std::ranges::max(origin) + 1;
    std::vector<std::int32_t> classes;
    std::vector<std::uint8_t> multilabel;
    std::vector<float> regression;
    for (std::size_t e = 0; e < edges; ++e) {
        const bool none = draws.below(4) == 0;
        classes.push_back(none ? graph::no_label : static_cast<std::int32_t>(draws.below(2)));
        for (int c = 0; c < 2; ++c) {
            multilabel.push_back(none ? graph::no_multilabel
                                      : static_cast<std::uint8_t>(draws.below(2)));
            regression.push_back(none ? std::numeric_limits<float>::quiet_NaN()
                                      : static_cast<float>(draws.uniform()));
        }
    }
    graph::TargetView view;
    if (shape.edge_targets == graph::TargetKind::classes) view.classes = classes;
    if (shape.edge_targets == graph::TargetKind::multilabel) view.multilabel = multilabel;
    if (shape.edge_targets == graph::TargetKind::regression) view.regression = regression;
    writer.edge_targets({.kind = shape.edge_targets, .count = 2}, view, origin);
}

/// The rows, and what their edges and vertices carry.
void write_rows(graph::DatasetWriter& writer, std::uint64_t seed, const RandomEdges& random,
                const DatasetShape& shape) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 7);
    std::vector<float> weights;
    std::vector<std::int64_t> times;
    std::vector<float> features;
    for (std::size_t e = 0; e < random.edges.size(); ++e) {
        weights.push_back(static_cast<float>(draws.below(5)));
        times.push_back(static_cast<std::int64_t>(draws.below(8)));
        for (std::uint64_t c = 0; c < shape.edge_width; ++c)
            features.push_back(static_cast<float>(e) + static_cast<float>(c) / 8);
    }
    graph::EdgePayload payload;
    if (shape.weights) payload.weight = weights;
    if (shape.times) payload.time = times;
    const bool labelled = shape.edge_targets != graph::TargetKind::none;
    payload.rows = shape.edge_width != 0 || labelled || shape.edge_split;
    const VertexId n = random.vertices;
    const graph::BuiltTopology built = graph::build_topology(
        graph::EdgeSpan(n, std::span<const graph::Edge>(random.edges)), payload,
        {.symmetrise = shape.symmetric,
         .keep_self_loops = shape.keep_irregular,
         .keep_duplicates = shape.keep_irregular});
    writer.topology(built, shape.symmetric);
    if (labelled) write_edge_targets(writer, shape, draws, built.origin->span());
    if (shape.edge_split) {
        std::vector<graph::Role> roles;
        for (std::size_t e = 0; e < random.edges.size(); ++e)
            roles.push_back(static_cast<graph::Role>(draws.below(4)));
        writer.edge_split(roles, built.origin->span());
    }
    if (shape.edge_width != 0) {
        const graph::FeatureView rows{{.width = shape.edge_width},
                                      random.edges.size(),
                                      std::as_bytes(std::span(features)).data(),
                                      {}};
        writer.edge_features(rows, built.origin->span(), "test", Progress::none());
    }
    if (!shape.times) return;
    std::vector<std::int64_t> of_vertices;
    for (VertexId v = 0; v < n; ++v)
        of_vertices.push_back(v % 9 == 8 ? graph::no_time
                                         : static_cast<std::int64_t>(draws.below(10)));
    writer.vertex_times(of_vertices);
}

}  // namespace

graph::Dataset random_dataset(const std::filesystem::path& folder, std::uint64_t seed,
                              const DatasetShape& shape, VertexId max_vertices) {
    const RandomEdges random = random_edges(seed, max_vertices);
    const VertexId n = random.vertices;
    graph::DatasetWriter writer(folder, Existing::refuse);
    write_rows(writer, seed, random, shape);
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 2);
    if (shape.width != 0) {
        writer.features(PatternFeatures(n, {.width = shape.width, .type = shape.feature_type}),
                        std::nullopt, false, Progress::none());
    }
    write_targets(writer, draws, shape.targets, n);
    std::vector<graph::Role> roles(n, graph::Role::none);
    for (graph::Role& role : roles) {
        if (shape.roles) role = static_cast<graph::Role>(draws.below(4));
    }
    writer.split(roles);
    writer.commit({R"({"verb": "test"})", ""});
    return graph::Dataset(folder);
}

DatasetShape random_shape(std::uint64_t seed) {
    constexpr std::array types{ElementType::f32, ElementType::f16, ElementType::bf16,
                               ElementType::i8, ElementType::u8};
    constexpr std::array kinds{graph::TargetKind::none, graph::TargetKind::classes,
                               graph::TargetKind::multilabel, graph::TargetKind::regression};
    return {.symmetric = seed % 2 == 0,
            .keep_irregular = seed % 3 == 0,
            .feature_type = types[seed % types.size()],
            .width = seed % 7 == 0 ? 0 : 1 + seed % 5,
            .targets = kinds[seed % kinds.size()],
            .roles = seed % 6 != 5};
}

}  // namespace rudder::test
