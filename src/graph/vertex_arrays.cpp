#include <cmath>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "rudder/graph/dataset.hpp"

#include "graph_types.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t array_rows_per_chunk = 1 << 12;
constexpr const char* remake_arrays = "make the data set again";

constexpr TargetArrays::Names vertex_names{"labels", "split", "vertices"};

TypeRows open_rows(const ArrayFolder& folder, const FeatureInfo& features, VertexId rows,
                   const std::string& name, const std::string& scale) {
    TypeRows opened;
    if (!features.present()) return opened;
    const std::array<std::uint64_t, 2> shape{rows, features.width};
    if (folder.expect(name, shape).type != features.type) {
        throw input_error("the features are not of the type the manifest says",
                          folder.manifest_path(), remake_arrays);
    }
    opened.features = folder.map(name);
    if (features.type == ElementType::i8) opened.scale = folder.map<float>(scale, {features.width});
    return opened;
}

void check_scale(std::span<const float> scale, const std::string& array, const std::string& where) {
    for (std::size_t i = 0; i < scale.size(); ++i) {
        if (std::isfinite(scale[i])) continue;
        throw input_error("a scale is NaN or infinite",
                          fmt::format("{}, array '{}', position {}", where, array, i),
                          remake_arrays);
    }
}

}  // namespace

VertexArrays VertexArrays::open(const ArrayFolder& folder, const DatasetInfo& info, VertexId rows) {
    VertexArrays arrays;
    TypeRows whole = open_rows(folder, info.features, rows, "features", "feature_scale");
    arrays.features = std::move(whole.features);
    arrays.scale = std::move(whole.scale);
    for (std::size_t t = 0; t < info.types.vertices.size(); ++t) {
        const VertexType& type = info.types.vertices[t];
        arrays.types.push_back(open_rows(folder, type.features, type.vertices,
                                         type_array("features", t),
                                         type_array("feature_scale", t)));
    }
    arrays.targets.open_targets(folder, info.targets, rows, vertex_names.labels);
    arrays.targets.roles = folder.map<std::uint8_t>("split", {rows});
    if (info.vertex_time) arrays.times = folder.map<std::int64_t>("vertex_time", {rows});
    return arrays;
}

FeatureView VertexArrays::feature_view(const FeatureInfo& info, VertexId rows) const {
    return {info, rows, features.data(), scale.span()};
}

FeatureView VertexArrays::type_view(const GraphTypes& of, std::size_t type) const {
    const VertexType& known = of.vertices[type];
    return {known.features, known.vertices, types[type].features.data(), types[type].scale.span()};
}

void VertexArrays::check_bounds(const DatasetInfo& info, const std::string& where) const {
    targets.check_bounds(info.targets, where, vertex_names);
}

void VertexArrays::check(const DatasetInfo& info, VertexId rows, const std::string& where) const {
    const FeatureView stored = feature_view(info.features, rows);
    parallel_chunks(
        info.features.present() ? rows : 0, array_rows_per_chunk, [&](const Chunk& chunk) {
            const std::uint64_t row = info.features.row_bytes();
            check_finite(info.features,
                         stored.bytes().subspan(chunk.begin * row, (chunk.end - chunk.begin) * row),
                         chunk.begin, where + ", array 'features'");
        });
    targets.check(info.targets, info.split, rows, where, vertex_names);
    check_scale(scale.span(), "feature_scale", where);
    for (std::size_t t = 0; t < types.size(); ++t) {
        const FeatureView typed = type_view(info.types, t);
        const std::uint64_t row = typed.info.row_bytes();
        parallel_chunks(
            typed.info.present() ? typed.rows : 0, array_rows_per_chunk, [&](const Chunk& chunk) {
                check_finite(
                    typed.info,
                    typed.bytes().subspan(chunk.begin * row, (chunk.end - chunk.begin) * row),
                    chunk.begin, fmt::format("{}, array '{}'", where, type_array("features", t)));
            });
        check_scale(typed.scale, type_array("feature_scale", t), where);
    }
}

}  // namespace rudder::graph
