#include "rudder/graph/targets.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::graph {

namespace {

constexpr std::array<std::string_view, 4> target_names{"none", "classes", "multilabel",
                                                       "regression"};

}  // namespace

std::string_view to_string(TargetKind kind) noexcept {
    return target_names[static_cast<std::size_t>(kind)];
}

TargetKind target_kind(std::string_view name, const std::string& where) {
    for (std::size_t i = 0; i < target_names.size(); ++i) {
        if (target_names[i] == name) return static_cast<TargetKind>(i);
    }
    throw input_error(fmt::format("unknown kind of target '{}'", name), where,
                      "use none, classes, multilabel or regression");
}

bool is_labelled(const TargetInfo& info, const TargetView& targets, VertexId v) noexcept {
    switch (info.kind) {
        case TargetKind::none:
            return false;
        case TargetKind::classes:
            return targets.classes[v] != no_label;
        case TargetKind::multilabel:
            return info.count != 0 && targets.multilabel[v * info.count] != no_multilabel;
        case TargetKind::regression:
            return info.count != 0 && !std::isnan(targets.regression[v * info.count]);
    }
    return false;
}

}  // namespace rudder::graph
