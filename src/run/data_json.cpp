#include "data_json.hpp"

#include "core/json.hpp"
#include "graph/graph_types.hpp"
#include "partition/part_sizes.hpp"

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
    if (info.edge_weight) json["edge_weight"] = true;
    if (info.edge_time) json["edge_time"] = true;
    if (info.edge_features.present()) {
        json["edge_features"] = {{"width", info.edge_features.width},
                                 {"type", to_string(info.edge_features.type)}};
    }
    if (info.edge_targets.kind != graph::TargetKind::none) {
        json["edge_targets"] = to_string(info.edge_targets.kind);
        json["edge_classes"] = info.edge_targets.count;
        json["edge_labelled"] = info.edge_targets.labelled;
    }
    if (info.edge_split) {
        json["edge_split"] = {{"train", info.edge_split->train},
                              {"valid", info.edge_split->valid},
                              {"test", info.edge_split->test}};
    }
    if (info.vertex_time) json["vertex_time"] = true;
    if (info.types.present()) {
        json["vertex_types"] = graph::vertex_types_json(info.types);
        json["edge_types"] = graph::edge_types_json(info.types);
    }
    return json;
}

Json partition_json(const graph::DatasetInfo& info, const partition::PartitionSummary& summary) {
    Json json = dataset_json(info);
    json["kind"] = "partition";
    describe(summary, json);
    return json;
}

Json partition_json(const partition::PartitionedDataset& data) {
    Json json = partition_json(data.info(), data.summary());
    const auto sizes = partition::part_sizes(data);
    if (!sizes) return json;
    json["part_vertices"] = sizes->vertices;
    json["part_train"] = sizes->train;
    json["part_edges"] = sizes->edges;
    if (!sizes->halo_from.empty()) json["halo_from"] = sizes->halo_from;
    return json;
}

}  // namespace rudder::run
