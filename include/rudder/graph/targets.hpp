// What is to be predicted: one class per vertex, several, or numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/types.hpp"

namespace rudder::graph {

/// The kind of target, and how it is stored:
/// classes: int32 per vertex, -1 where unlabelled; multilabel: uint8 per vertex and class, 0 or 1,
/// a row of 255 where unlabelled; regression: float32 per vertex and output, a row of NaN where
/// unlabelled.
enum class TargetKind : std::uint8_t { none, classes, multilabel, regression };

[[nodiscard]] std::string_view to_string(TargetKind kind) noexcept;
/// The kind of that name; an input Error naming `where` otherwise.
[[nodiscard]] TargetKind target_kind(std::string_view name, const std::string& where);

inline constexpr std::int32_t no_label = -1;
inline constexpr std::uint8_t no_multilabel = 255;
/// More classes than this are taken for a mistake.
inline constexpr std::uint64_t max_classes = 1 << 20;

/// What a data set's targets are.
struct TargetInfo {
    TargetKind kind = TargetKind::none;
    std::uint64_t count = 0;         ///< classes, or outputs of a regression
    VertexId labelled = 0;           ///< vertices that have one
    std::vector<std::string> names;  ///< of the classes; may be empty
};

/// A view of the targets; the span of the data set's kind is set, the others are empty.
struct TargetView {
    std::span<const std::int32_t> classes;
    std::span<const std::uint8_t> multilabel;
    std::span<const float> regression;
};

/// Whether vertex v has a target.
[[nodiscard]] bool is_labelled(const TargetInfo& info, const TargetView& targets,
                               VertexId v) noexcept;

}  // namespace rudder::graph
