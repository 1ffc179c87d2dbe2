#include <atomic>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "rudder/graph/dataset.hpp"

#include "graph_types.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t array_rows_per_chunk = 1 << 12;
constexpr const char* remake_arrays = "make the data set again";

void check_role(std::uint8_t role, VertexId v, const std::string& where) {
    if (role <= static_cast<std::uint8_t>(Role::test)) return;
    throw input_error(fmt::format("invalid role: {}", role),
                      fmt::format("{}, array 'split', position {}", where, v), remake_arrays);
}

void check_class(const TargetInfo& info, std::int32_t label, VertexId v, const std::string& where) {
    if (label >= no_label && label < static_cast<std::int64_t>(info.count)) return;
    throw input_error(fmt::format("label {} is outside 0..{}", label, info.count - 1),
                      fmt::format("{}, array 'labels', position {}", where, v), remake_arrays);
}

void check_multilabel(const TargetInfo& info, const TargetView& targets, VertexId v,
                      const std::string& where) {
    const bool labelled = is_labelled(info, targets, v);
    for (std::uint64_t c = 0; c < info.count; ++c) {
        const std::uint8_t value = targets.multilabel[v * info.count + c];
        if (labelled ? value <= 1 : value == no_multilabel) continue;
        throw input_error(fmt::format("label {} is neither 0 nor 1", value),
                          fmt::format("{}, array 'labels', row {}, column {}", where, v, c),
                          remake_arrays);
    }
}

void check_regression(const TargetInfo& info, const TargetView& targets, VertexId v,
                      const std::string& where) {
    const bool labelled = is_labelled(info, targets, v);
    for (std::uint64_t c = 0; c < info.count; ++c) {
        const float value = targets.regression[v * info.count + c];
        if (labelled ? std::isfinite(value) : std::isnan(value)) continue;
        throw input_error("a target is infinite or partly missing",
                          fmt::format("{}, array 'labels', row {}, column {}", where, v, c),
                          remake_arrays);
    }
}

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
    switch (info.targets.kind) {
        case TargetKind::none:
            break;
        case TargetKind::classes:
            arrays.classes = folder.map<std::int32_t>("labels", {rows});
            break;
        case TargetKind::multilabel:
            arrays.multilabel = folder.map<std::uint8_t>("labels", {rows, info.targets.count});
            break;
        case TargetKind::regression:
            arrays.regression = folder.map<float>("labels", {rows, info.targets.count});
            break;
    }
    arrays.roles = folder.map<std::uint8_t>("split", {rows});
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

TargetView VertexArrays::target_view() const {
    return {classes.span(), multilabel.span(), regression.span()};
}

std::span<const Role> VertexArrays::role_view() const {
    return {reinterpret_cast<const Role*>(roles.data()), roles.size()};
}

void VertexArrays::check_bounds(const DatasetInfo& info, const std::string& where) const {
    for (VertexId v = 0; v < roles.size(); ++v)
        check_role(roles[v], v, where);
    for (VertexId v = 0; v < classes.size(); ++v)
        check_class(info.targets, classes[v], v, where);
}

void VertexArrays::check(const DatasetInfo& info, VertexId rows, const std::string& where) const {
    const TargetView targets = target_view();
    const FeatureView stored = feature_view(info.features, rows);
    std::atomic<VertexId> labelled{0};
    parallel_chunks(rows, array_rows_per_chunk, [&](const Chunk& chunk) {
        if (info.features.present()) {
            const std::uint64_t row = info.features.row_bytes();
            check_finite(info.features,
                         stored.bytes().subspan(chunk.begin * row, (chunk.end - chunk.begin) * row),
                         chunk.begin, where + ", array 'features'");
        }
        VertexId own = 0;
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            check_role(roles[v], v, where);
            if (info.targets.kind == TargetKind::classes) {
                check_class(info.targets, classes[v], v, where);
            } else if (info.targets.kind == TargetKind::multilabel) {
                check_multilabel(info.targets, targets, v, where);
            } else if (info.targets.kind == TargetKind::regression) {
                check_regression(info.targets, targets, v, where);
            }
            if (is_labelled(info.targets, targets, v)) ++own;
        }
        labelled += own;
    });
    if (labelled != info.targets.labelled || count_split(role_view()) != info.split) {
        throw input_error("the labelled vertices or the split are not as many as the manifest says",
                          where, remake_arrays);
    }
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
