#include "datasets.hpp"

#include <filesystem>

#include "core/json.hpp"
#include "core/staging.hpp"
#include "graph/io/import.hpp"
#include "partition/partition.hpp"
#include "rudder/core/checked.hpp"
#include "run/partition_cache.hpp"

namespace rudder::python {

namespace {

Json json_of(const graph::DatasetInfo& info) {
    return {
        {"vertices", info.vertices},
        {"edges", info.edges},
        {"symmetric", info.symmetric},
        {"features", info.features.width},
        {"targets", {{"kind", to_string(info.targets.kind)}, {"count", info.targets.count}}},
        {"split",
         {{"train", info.split.train}, {"valid", info.split.valid}, {"test", info.split.test}}}};
}

}  // namespace

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
