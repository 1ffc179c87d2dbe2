// Targets and roles as they lie in a folder, of vertices or of edges: opened, viewed, checked.
#include <atomic>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t targets_per_chunk = 1 << 12;
constexpr const char* remake_targets = "make the data set again";

void check_role(std::uint8_t role, std::uint64_t v, const std::string& where,
                std::string_view array) {
    if (role <= static_cast<std::uint8_t>(Role::test)) return;
    throw input_error(fmt::format("invalid role: {}", role),
                      fmt::format("{}, array '{}', position {}", where, array, v), remake_targets);
}

void check_class(const TargetInfo& info, std::int32_t label, std::uint64_t v,
                 const std::string& where, std::string_view array) {
    if (label >= no_label && label < static_cast<std::int64_t>(info.count)) return;
    throw input_error(fmt::format("label {} is outside 0..{}", label, info.count - 1),
                      fmt::format("{}, array '{}', position {}", where, array, v), remake_targets);
}

void check_multilabel(const TargetInfo& info, const TargetView& targets, std::uint64_t v,
                      const std::string& where, std::string_view array) {
    const bool labelled = is_labelled(info, targets, v);
    for (std::uint64_t c = 0; c < info.count; ++c) {
        const std::uint8_t value = targets.multilabel[v * info.count + c];
        if (labelled ? value <= 1 : value == no_multilabel) continue;
        throw input_error(fmt::format("label {} is neither 0 nor 1", value),
                          fmt::format("{}, array '{}', row {}, column {}", where, array, v, c),
                          remake_targets);
    }
}

void check_regression(const TargetInfo& info, const TargetView& targets, std::uint64_t v,
                      const std::string& where, std::string_view array) {
    const bool labelled = is_labelled(info, targets, v);
    for (std::uint64_t c = 0; c < info.count; ++c) {
        const float value = targets.regression[v * info.count + c];
        if (labelled ? std::isfinite(value) : std::isnan(value)) continue;
        throw input_error("a target is infinite or partly missing",
                          fmt::format("{}, array '{}', row {}, column {}", where, array, v, c),
                          remake_targets);
    }
}

}  // namespace

void TargetArrays::open_targets(const ArrayFolder& folder, const TargetInfo& info,
                                std::uint64_t rows, std::string_view labels) {
    const std::string name(labels);
    switch (info.kind) {
        case TargetKind::none:
            break;
        case TargetKind::classes:
            classes = folder.map<std::int32_t>(name, {rows});
            break;
        case TargetKind::multilabel:
            multilabel = folder.map<std::uint8_t>(name, {rows, info.count});
            break;
        case TargetKind::regression:
            regression = folder.map<float>(name, {rows, info.count});
            break;
    }
}

TargetView TargetArrays::view() const {
    return {classes.span(), multilabel.span(), regression.span()};
}

std::span<const Role> TargetArrays::role_view() const {
    return {reinterpret_cast<const Role*>(roles.data()), roles.size()};
}

void TargetArrays::check_bounds(const TargetInfo& info, const std::string& where,
                                const Names& names) const {
    for (std::size_t v = 0; v < roles.size(); ++v)
        check_role(roles[v], v, where, names.split);
    for (std::size_t v = 0; v < classes.size(); ++v)
        check_class(info, classes[v], v, where, names.labels);
}

void TargetArrays::check(const TargetInfo& info, const SplitCounts& split, std::uint64_t rows,
                         const std::string& where, const Names& names) const {
    const TargetView targets = view();
    std::atomic<VertexId> labelled{0};
    parallel_chunks(rows, targets_per_chunk, [&](const Chunk& chunk) {
        VertexId own = 0;
        for (std::uint64_t v = chunk.begin; v < chunk.end; ++v) {
            if (!roles.empty()) check_role(roles[v], v, where, names.split);
            if (info.kind == TargetKind::classes) {
                check_class(info, classes[v], v, where, names.labels);
            } else if (info.kind == TargetKind::multilabel) {
                check_multilabel(info, targets, v, where, names.labels);
            } else if (info.kind == TargetKind::regression) {
                check_regression(info, targets, v, where, names.labels);
            }
            if (is_labelled(info, targets, v)) ++own;
        }
        labelled += own;
    });
    if (labelled == info.labelled && count_split(role_view()) == split) return;
    throw input_error(
        fmt::format("the labelled {} or the split are not as many as the manifest says",
                    names.things),
        where, remake_targets);
}

}  // namespace rudder::graph
