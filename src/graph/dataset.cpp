#include "rudder/graph/dataset.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/graph/provenance.hpp"

#include "graph_types.hpp"
#include "row_info.hpp"
#include "symmetric_types.hpp"
#include "vertex_ids.hpp"

namespace rudder::graph {

Dataset::Dataset(const std::filesystem::path& folder)
    : folder_(folder, dataset_format, dataset_version),
      info_(dataset_info(folder_.manifest(), folder_.manifest_path())),
      topology_(open_topology(folder_, info_)),
      arrays_(VertexArrays::open(folder_, info_, info_.vertices)),
      edge_arrays_(EdgeArrays::open(folder_, info_)) {}

void Dataset::check() const {
    const std::string where = folder_.path().string();
    folder_.verify_checksums();
    check_topology(topology(), info_.vertices, where);
    arrays_.check(info_, info_.vertices, where);
    edge_arrays_.check(info_, topology(), where);
    if (info_.types.present()) {
        const auto type_of = [&](VertexId v) { return info_.types.of(v); };
        check_edge_types(topology(), edge_data().type, info_.types, {type_of, type_of}, where);
        for (std::size_t t = 0; t < info_.types.vertices.size(); ++t)
            VertexIds::open(folder_, info_.types, t).check(where);
    }
    VertexIds::open(folder_, info_.vertices).check(where);
    const TopologyCounts counts = count_irregular(topology(), edge_data().type);
    if (counts.self_loops != info_.self_loops || counts.duplicates != info_.duplicates) {
        throw input_error("self loops or duplicates are not as many as the manifest says", where,
                          "make the data set again");
    }
    if (info_.symmetric && !is_symmetric(topology())) {
        throw input_error("the graph is not symmetric, though the manifest says so", where,
                          "make the data set again");
    }
    if (info_.symmetric &&
        !(info_.types.present() ? types_carry_symmetric(topology(), edge_data(), info_.types)
                                : carries_symmetric(topology(), edge_data()))) {
        throw input_error("what edges carry is not symmetric, though the manifest says so", where,
                          "make the data set again");
    }
}

namespace {

constexpr const char* remake_dataset = "make the data set again";

/// Width and type of rows.
FeatureInfo row_info(const Json& entry, const std::string& where) {
    FeatureInfo info;
    info.width = json_u64(entry, "width", where);
    const std::string type = json_string(entry, "type", where);
    const auto known = element_type(type);
    if (!known || !is_feature_type(*known)) {
        throw input_error(fmt::format("features cannot be of type '{}'", type), where,
                          remake_dataset);
    }
    info.type = *known;
    return info;
}

FeatureInfo edge_feature_info(const Json& manifest, const std::string& where) {
    const auto entry = manifest.find("edge_features");
    if (entry == manifest.end() || entry->is_null()) return {};
    const FeatureInfo info = row_info(*entry, where);
    if (info.type != ElementType::i8) return info;
    throw input_error("features of edges cannot be of type 'int8'", where, remake_dataset);
}

/// A key that may be absent.
bool says(const Json& manifest, const char* key, const std::string& where) {
    return manifest.contains(key) && json_bool(manifest, key, where);
}

TargetInfo target_info(const Json& entry, const std::string& where) {
    if (entry.is_null()) return {};
    TargetInfo info;
    info.kind = target_kind(json_string(entry, "kind", where), where);
    info.count = json_u64(entry, "count", where);
    info.labelled = json_u64(entry, "labelled", where);
    // Labels have no array of this width, so that no file says whether it can be.
    if (info.kind == TargetKind::classes && info.count > max_classes) {
        throw input_error(fmt::format("{} classes are more than {}", info.count, max_classes),
                          where, remake_dataset);
    }
    if (const auto names = entry.find("names"); names != entry.end()) {
        for (const Json& name : *names) {
            if (!name.is_string())
                throw input_error("invalid class name: not a string", where, remake_dataset);
            info.names.push_back(name.get<std::string>());
        }
        if (info.names.size() != info.count) {
            throw input_error("there are not as many class names as classes", where,
                              remake_dataset);
        }
    }
    return info;
}

SplitCounts split_counts(const Json& split, const std::string& where) {
    return {json_u64(split, "train", where), json_u64(split, "valid", where),
            json_u64(split, "test", where)};
}

Json target_json(const TargetInfo& info) {
    if (info.kind == TargetKind::none) return nullptr;
    Json targets = {
        {"kind", to_string(info.kind)}, {"count", info.count}, {"labelled", info.labelled}};
    if (!info.names.empty()) targets["names"] = info.names;
    return targets;
}

Json split_json(const SplitCounts& split) {
    return {{"train", split.train}, {"valid", split.valid}, {"test", split.test}};
}

}  // namespace

FeatureInfo feature_info(const Json& entry, const std::string& where) {
    const Json& rows = json_field(entry, "features", where);
    if (rows.is_null()) return {};
    FeatureInfo info = row_info(rows, where);
    info.row_normalise = json_bool(rows, "row_normalise", where);
    return info;
}

Json feature_json(const FeatureInfo& info) {
    if (!info.present()) return nullptr;
    return {{"width", info.width},
            {"type", to_string(info.type)},
            {"row_normalise", info.row_normalise}};
}

void describe(const DatasetInfo& info, Json& manifest) {
    manifest["vertices"] = info.vertices;
    manifest["edges"] = info.edges;
    manifest["symmetric"] = info.symmetric;
    manifest["self_loops"] = info.self_loops;
    manifest["duplicates"] = info.duplicates;
    manifest["features"] = feature_json(info.features);
    manifest["targets"] = target_json(info.targets);
    manifest["split"] = split_json(info.split);
    if (info.edge_weight) manifest["edge_weight"] = true;
    if (info.edge_time) manifest["edge_time"] = true;
    if (info.edge_features.present()) {
        manifest["edge_features"] = {{"width", info.edge_features.width},
                                     {"type", to_string(info.edge_features.type)}};
    }
    if (info.edge_targets.kind != TargetKind::none)
        manifest["edge_targets"] = target_json(info.edge_targets);
    if (info.edge_split) manifest["edge_split"] = split_json(*info.edge_split);
    if (info.vertex_time) manifest["vertex_time"] = true;
    describe_types(info.types, manifest);
}

DatasetInfo dataset_info(const Json& manifest, const std::string& where) {
    DatasetInfo info;
    info.vertices = json_u64(manifest, "vertices", where);
    info.edges = json_u64(manifest, "edges", where);
    info.symmetric = json_bool(manifest, "symmetric", where);
    info.self_loops = json_u64(manifest, "self_loops", where);
    info.duplicates = json_u64(manifest, "duplicates", where);
    info.features = feature_info(manifest, where);
    info.targets = target_info(json_field(manifest, "targets", where), where);
    info.split = split_counts(json_field(manifest, "split", where), where);
    info.edge_weight = says(manifest, "edge_weight", where);
    info.edge_time = says(manifest, "edge_time", where);
    info.edge_features = edge_feature_info(manifest, where);
    if (const auto targets = manifest.find("edge_targets"); targets != manifest.end())
        info.edge_targets = target_info(*targets, where);
    if (const auto split = manifest.find("edge_split"); split != manifest.end())
        info.edge_split = split_counts(*split, where);
    info.vertex_time = says(manifest, "vertex_time", where);
    info.types = types_of(manifest, where);
    if (info.types.present()) {
        const VertexType& last = info.types.vertices.back();
        if (last.first + last.vertices != info.vertices) {
            throw input_error("the types do not have as many vertices as the graph", where,
                              remake_dataset);
        }
    }
    return info;
}

Json made_by_json(const Provenance& provenance) {
    if (provenance.made_by.empty()) return nullptr;
    return parse_json(provenance.made_by, "the command that made this");
}

}  // namespace rudder::graph
