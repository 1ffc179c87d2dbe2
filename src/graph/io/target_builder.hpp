// Targets from raw numbers: which kind they are, which vertices are unlabelled, what is out of
// range.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rudder/graph/io/graph_reader.hpp"

#include "npy.hpp"

namespace rudder::graph {

/// What else is known of the classes.
struct TargetHints {
    std::optional<std::uint64_t> classes;  ///< how many; else the largest label and one
    std::vector<std::string> names;        ///< of the classes, used if there are as many
};

/// One class per vertex; negative values mean no label, and so does 255 of `bytes` unless 255 is
/// itself a class.
[[nodiscard]] Targets class_targets(std::span<const std::int64_t> values, bool bytes,
                                    const TargetHints& hints, const std::string& where);
/// 0 or 1 for each vertex and class; a row of 255 or of negative values means no label.
[[nodiscard]] Targets multilabel_targets(std::span<const std::int64_t> values, std::uint64_t width,
                                         const TargetHints& hints, const std::string& where);
/// Numbers for each vertex; a row of NaN means no label.
[[nodiscard]] Targets regression_targets(Array<float> values, std::uint64_t width,
                                         const std::string& where);

/// Targets of an array: floats are a regression, a table of whole numbers is multi-label, a column
/// of them is classes. The array must have a row for each of `vertices`.
[[nodiscard]] Targets read_targets(NpyReader& reader, VertexId vertices, const TargetHints& hints);

}  // namespace rudder::graph
