#include <cmath>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t array_rows_per_chunk = 1 << 12;
constexpr const char* remake_arrays = "make the data set again";

constexpr TargetArrays::Names vertex_names{"labels", "split", "vertices"};

}  // namespace

VertexArrays VertexArrays::open(const ArrayFolder& folder, const DatasetInfo& info, VertexId rows) {
    VertexArrays arrays;
    const FeatureInfo& features = info.features;
    if (features.present()) {
        const std::array<std::uint64_t, 2> shape{rows, features.width};
        if (folder.expect("features", shape).type != features.type) {
            throw input_error("the features are not of the type the manifest says",
                              folder.manifest_path(), remake_arrays);
        }
        arrays.features = folder.map("features");
        if (features.type == ElementType::i8) {
            arrays.scale = folder.map<float>("feature_scale", {features.width});
        }
    }
    arrays.targets.open_targets(folder, info.targets, rows, vertex_names.labels);
    arrays.targets.roles = folder.map<std::uint8_t>("split", {rows});
    if (info.vertex_time) arrays.times = folder.map<std::int64_t>("vertex_time", {rows});
    return arrays;
}

FeatureView VertexArrays::feature_view(const FeatureInfo& info, VertexId rows) const {
    return {info, rows, features.data(), scale.span()};
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
    for (std::size_t i = 0; i < scale.size(); ++i) {
        if (std::isfinite(scale[i])) continue;
        throw input_error("a scale is NaN or infinite",
                          fmt::format("{}, array 'feature_scale', position {}", where, i),
                          remake_arrays);
    }
}

}  // namespace rudder::graph
