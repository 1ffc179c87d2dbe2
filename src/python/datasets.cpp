#include "datasets.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/staging.hpp"
#include "graph/io/import.hpp"
#include "partition/partition.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"
#include "run/partition_cache.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/typed_step.hpp"
#include "train/types.hpp"

namespace rudder::python {

namespace {

Json json_of(const graph::DatasetInfo& info) {
    Json json{
        {"vertices", info.vertices},
        {"edges", info.edges},
        {"symmetric", info.symmetric},
        {"features", info.rows().width},
        {"targets", {{"kind", to_string(info.targets.kind)}, {"count", info.targets.count}}},
        {"split",
         {{"train", info.split.train}, {"valid", info.split.valid}, {"test", info.split.test}}}};
    if (!info.types.present()) return json;
    json["labelled_type"] = info.types.vertices[labelled_type(info)].name;
    for (const NodeType& type : node_types(info)) {
        json["node_types"].push_back(
            {{"name", type.name}, {"vertices", type.count}, {"features", type.width}});
    }
    for (const EdgeTypeName& type : edge_type_names(info))
        json["edge_types"].push_back({type.from, type.name, type.to});
    return json;
}

std::int64_t signed_id(std::uint64_t id) {
    return narrow<std::int64_t>(id, "id");
}

GraphArrays arrays_of(const graph::Dataset& data) {
    GraphArrays arrays;
    const graph::TopologyView graph = data.topology();
    arrays.offsets.assign(graph.offsets.begin(), graph.offsets.end());
    arrays.neighbours.resize(graph.edges());
    graph.neighbours.visit([&](auto ids) { std::ranges::copy(ids, arrays.neighbours.begin()); });
    arrays.original_ids.resize(graph.vertices());
    std::iota(arrays.original_ids.begin(), arrays.original_ids.end(), std::int64_t{0});
    return arrays;
}

}  // namespace

GraphArrays graph_arrays(const std::string& path) {
    if (run::is_whole_dataset(path)) {
        const graph::Dataset data(path);
        train::check_one_type(data.info(), path);
        return arrays_of(data);
    }
    const partition::PartitionedDataset data(path);
    train::check_one_type(data.info(), path);
    GraphArrays arrays;
    arrays.offsets.push_back(0);
    for (PartId p = 0; p < data.parts(); ++p) {
        const partition::Part part = data.part(p);
        part.check_bounds(data.info().vertices);
        const std::int64_t before = arrays.offsets.back();
        for (const EdgeIndex end : part.offsets().subspan(1))
            arrays.offsets.push_back(before + signed_id(end));
        for (const LocalId neighbour : part.neighbours())
            arrays.neighbours.push_back(signed_id(part.global(neighbour)));
        for (const VertexId id : part.original_ids())
            arrays.original_ids.push_back(signed_id(id));
    }
    return arrays;
}

std::vector<NodeType> node_types(const graph::DatasetInfo& info) {
    std::vector<NodeType> all;
    for (const graph::VertexType& type : info.types.vertices)
        all.push_back({type.name, type.vertices, type.features.width});
    return all;
}

std::vector<EdgeTypeName> edge_type_names(const graph::DatasetInfo& info) {
    std::vector<EdgeTypeName> all;
    const auto& vertices = info.types.vertices;
    for (const graph::EdgeType& type : info.types.edges)
        all.push_back({vertices[type.from].name, type.name, vertices[type.to].name});
    return all;
}

std::size_t labelled_type(const graph::DatasetInfo& info) noexcept {
    const auto& types = info.types.vertices;
    const auto found =
        std::ranges::find_if(types, [](const auto& type) { return type.labelled != 0; });
    return found == types.end() ? 0 : static_cast<std::size_t>(found - types.begin());
}

namespace {

/// Arcs by type as they come, row after row.
class ArcsByType {
public:
    explicit ArcsByType(const graph::DatasetInfo& info) : sources_(info.types.edges.size()) {
        made_.node_types = node_types(info);
        made_.edge_types = edge_type_names(info);
        made_.edges.resize(sources_.size());
        made_.original_ids.resize(info.types.vertices.size());
    }
    void add(std::size_t type, VertexId source, VertexId destination) {
        sources_[type].push_back(signed_id(source));
        made_.edges[type].push_back(signed_id(destination));
    }
    void add_vertex(std::size_t type, VertexId original) {
        made_.original_ids[type].push_back(signed_id(original));
    }
    [[nodiscard]] TypedGraphArrays take() {
        for (std::size_t t = 0; t < sources_.size(); ++t) {
            std::vector<std::int64_t>& all = made_.edges[t];
            all.insert(all.begin(), sources_[t].begin(), sources_[t].end());
        }
        return std::move(made_);
    }

private:
    TypedGraphArrays made_;
    std::vector<std::vector<std::int64_t>> sources_;
};

void check_several_types(const graph::DatasetInfo& info, const std::string& path) {
    if (info.types.present()) return;
    throw input_error("the graph has one type", path, "take it as a graph of one type");
}

TypedGraphArrays typed_arrays_of(const graph::Dataset& data) {
    const graph::GraphTypes& types = data.info().types;
    const graph::TopologyView graph = data.topology();
    const auto edge_types = data.edge_data().type;
    ArcsByType arcs(data.info());
    for (VertexId v = 0; v < graph.vertices(); ++v) {
        const graph::VertexType& to = types.vertices[types.of(v)];
        arcs.add_vertex(types.of(v), v - to.first);
        for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
            const graph::EdgeType& type = types.edges[edge_types[e]];
            arcs.add(edge_types[e], graph.neighbours[e] - types.vertices[type.from].first,
                     v - to.first);
        }
    }
    return arcs.take();
}

}  // namespace

TypedGraphArrays typed_graph_arrays(const std::string& path) {
    if (run::is_whole_dataset(path)) {
        const graph::Dataset data(path);
        check_several_types(data.info(), path);
        return typed_arrays_of(data);
    }
    const partition::PartitionedDataset data(path);
    check_several_types(data.info(), path);
    const train::TypeNumbers numbers(data.book(), data.types());
    ArcsByType arcs(data.info());
    for (PartId p = 0; p < data.parts(); ++p) {
        const partition::Part part = data.part(p);
        part.check_bounds(data.info().vertices);
        const auto edge_types = part.edge_data().type;
        for (VertexId v = 0; v < part.own(); ++v) {
            const auto to = numbers.of(part.range().begin + v);
            arcs.add_vertex(to.type,
                            part.original_ids()[v] - data.info().types.vertices[to.type].first);
            for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + 1]; ++e) {
                arcs.add(edge_types[e], numbers.of(part.global(part.neighbours()[e])).number,
                         to.number);
            }
        }
    }
    return arcs.take();
}

void write_weights(const WeightsRequest& request) {
    const train::SavedNetwork saved = train::load_network(request.run);
    train::Checkpoint checkpoint = train::read_checkpoint(saved.checkpoint);
    if (checkpoint.weights.size() != request.weights.size()) {
        throw usage_error(fmt::format("invalid weights: {}, of a network with {}",
                                      request.weights.size(), checkpoint.weights.size()),
                          saved.checkpoint.string(), "give the weights of the same network");
    }
    if (std::filesystem::exists(request.output)) {
        throw usage_error("the output exists already", request.output, "choose another folder");
    }
    checkpoint.weights = request.weights;
    std::filesystem::create_directories(request.output);
    static_cast<void>(train::write_checkpoint(request.output, checkpoint));
}

void import_arrays(const ImportRequest& request) {
    graph::ImportOptions options;
    options.input = request.input;
    options.output = request.output;
    options.format = "npz";
    options.directed = request.directed;
    if (!request.split.empty()) options.split = graph::parse_split(request.split);
    options.seed = request.seed;
    options.force = request.force;
    graph::import_dataset(options);
}

void divide(const DivideRequest& request) {
    partition::PartitionOptions options;
    options.parts = narrow<PartId>(request.parts, "number of parts");
    if (!request.method.empty()) options.method = request.method;
    options.seed = request.seed;
    partition::partition_dataset(graph::Dataset(request.data), request.output, options,
                                 request.force ? Existing::replace : Existing::refuse);
}

std::string described(const std::string& path) {
    if (run::is_whole_dataset(path)) {
        Json json = json_of(graph::Dataset(path).info());
        json["parts"] = 0;
        return json.dump();
    }
    const partition::PartitionedDataset parts(path);
    Json json = json_of(parts.info());
    json["parts"] = parts.parts();
    return json.dump();
}

}  // namespace rudder::python
