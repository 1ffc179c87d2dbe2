#include "data_json.hpp"

#include "core/json.hpp"

namespace rudder::run {

Json dataset_json(const graph::DatasetInfo& info) {
    Json json = {{"kind", "dataset"}, {"vertices", info.vertices}, {"edges", info.edges}};
    json["features"] = nullptr;
    if (info.features.present()) {
        json["features"] = {{"width", info.features.width},
                            {"type", to_string(info.features.type)},
                            {"row_normalise", info.features.row_normalise}};
    }
    json["targets"] = to_string(info.targets.kind);
    json["classes"] = info.targets.count;
    json["labelled"] = info.targets.labelled;
    json["train"] = info.split.train;
    json["valid"] = info.split.valid;
    json["test"] = info.split.test;
    json["symmetric"] = info.symmetric;
    json["self_loops"] = info.self_loops;
    json["duplicates"] = info.duplicates;
    return json;
}

Json partition_json(const graph::DatasetInfo& info, const partition::PartitionSummary& summary) {
    Json json = dataset_json(info);
    json["kind"] = "partition";
    describe(summary, json);
    return json;
}

}  // namespace rudder::run
