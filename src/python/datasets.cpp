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
#include "train/types.hpp"

namespace rudder::python {

namespace {

Json json_of(const graph::DatasetInfo& info) {
    return {
        {"vertices", info.vertices},
        {"edges", info.edges},
        {"symmetric", info.symmetric},
        {"features", info.rows().width},
        {"targets", {{"kind", to_string(info.targets.kind)}, {"count", info.targets.count}}},
        {"split",
         {{"train", info.split.train}, {"valid", info.split.valid}, {"test", info.split.test}}}};
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

void write_weights(const WeightsRequest& request) {
    const train::SavedNetwork saved = train::load_network(request.run);
    train::Checkpoint checkpoint = train::read_checkpoint(saved.checkpoint);
    if (checkpoint.weights.size() != request.weights.size()) {
        throw usage_error(fmt::format("invalid weights: {}, of a network with {}",
                                      request.weights.size(), checkpoint.weights.size()),
                          saved.checkpoint.string(), "give those of the same network");
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
