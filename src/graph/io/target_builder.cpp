#include "target_builder.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::graph {

namespace {

constexpr auto most_classes = static_cast<std::int64_t>(max_classes);
constexpr std::int64_t byte_without_label = 255;

std::string at(const std::string& where, VertexId position) {
    return fmt::format("{}, position {}", where, position);
}

std::string at(const std::string& where, VertexId row, std::uint64_t column) {
    return fmt::format("{}, row {}, column {}", where, row, column);
}

void count_labelled(Targets& targets, VertexId vertices) {
    for (VertexId v = 0; v < vertices; ++v) {
        if (is_labelled(targets.info, targets.view(), v)) ++targets.info.labelled;
    }
}

}  // namespace

Targets class_targets(std::span<const std::int64_t> values, bool bytes, const TargetHints& hints,
                      const std::string& where) {
    std::int64_t count = 0;
    for (const std::int64_t value : values) {
        if (bytes && value == byte_without_label) continue;
        count = std::max(count, std::min(value, most_classes) + 1);
    }
    if (hints.classes) {
        count = static_cast<std::int64_t>(
            std::min<std::uint64_t>(*hints.classes, std::uint64_t{1} << 62));
    } else if (std::cmp_greater(hints.names.size(), count)) {
        count = static_cast<std::int64_t>(hints.names.size());
    }
    const std::int64_t limit = std::min(count, most_classes);
    // Unless the number of classes is known, 255 is the class after 254, if that one occurs.
    const bool byte_means_none = bytes && count < byte_without_label + (hints.classes ? 1 : 0);
    Targets targets;
    targets.info.kind = TargetKind::classes;
    targets.classes = Array<std::int32_t>::uninitialised(values.size());
    for (VertexId v = 0; v < values.size(); ++v) {
        const std::int64_t value = values[v];
        const bool none = value < 0 || (byte_means_none && value == byte_without_label);
        if (!none && value >= limit && !(bytes && !hints.classes && value == byte_without_label)) {
            throw input_error(fmt::format("label {} is outside 0..{}", value, limit - 1),
                              at(where, v), "correct the label, or the number of classes");
        }
        targets.classes[v] = none ? no_label : static_cast<std::int32_t>(value);
        if (!none) count = std::max(count, value + 1);
    }
    if (count > most_classes) {
        throw input_error(fmt::format("{} classes are more than {}", count, most_classes), where,
                          "correct the number of classes");
    }
    targets.info.count = static_cast<std::uint64_t>(count);
    if (hints.names.size() == targets.info.count) targets.info.names = hints.names;
    count_labelled(targets, values.size());
    return targets;
}

Targets multilabel_targets(std::span<const std::int64_t> values, std::uint64_t width,
                           const TargetHints& hints, const std::string& where) {
    Targets targets;
    targets.info.kind = TargetKind::multilabel;
    targets.info.count = width;
    if (hints.names.size() == width) targets.info.names = hints.names;
    targets.multilabel = Array<std::uint8_t>::uninitialised(values.size());
    const VertexId rows = width == 0 ? 0 : values.size() / width;
    for (VertexId v = 0; v < rows; ++v) {
        const auto row = values.subspan(v * width, width);
        const bool none = std::ranges::all_of(
            row, [](std::int64_t value) { return value < 0 || value == no_multilabel; });
        for (std::uint64_t c = 0; c < width; ++c) {
            if (!none && (row[c] < 0 || row[c] > 1)) {
                throw input_error(fmt::format("label {} is neither 0 nor 1", row[c]),
                                  at(where, v, c), "correct the label");
            }
            targets.multilabel[v * width + c] =
                none ? no_multilabel : static_cast<std::uint8_t>(row[c]);
        }
    }
    count_labelled(targets, rows);
    return targets;
}

Targets regression_targets(Array<float> values, std::uint64_t width, const std::string& where) {
    Targets targets;
    targets.info.kind = TargetKind::regression;
    targets.info.count = width;
    const VertexId rows = width == 0 ? 0 : values.size() / width;
    for (VertexId v = 0; v < rows; ++v) {
        const bool none = std::isnan(values[v * width]);
        for (std::uint64_t c = 0; c < width; ++c) {
            const float value = values[v * width + c];
            if (none ? std::isnan(value) : std::isfinite(value)) continue;
            throw input_error(
                std::isinf(value) ? "a target is infinite" : "a row of targets is partly NaN",
                at(where, v, c), "give numbers, or NaN in the whole row for no label");
        }
    }
    targets.regression = std::move(values);
    count_labelled(targets, rows);
    return targets;
}

Targets read_targets(NpyReader& reader, VertexId vertices, const TargetHints& hints) {
    const NpyHeader& header = reader.header();
    const std::string& where = reader.where();
    if (header.shape.empty() || header.shape.size() > 2 || header.text_length != 0) {
        throw input_error(fmt::format("labels cannot be {}", header.describe()), where,
                          "give a column, or a table with a row for each vertex");
    }
    if (header.shape[0] != vertices) {
        throw input_error(
            fmt::format("there are {} labels for {} vertices", header.shape[0], vertices), where,
            "give one for each vertex");
    }
    const std::uint64_t width = header.shape.size() == 2 ? header.shape[1] : 1;
    if (width == 0) throw input_error("the labels have no columns", where, "leave them out");
    if (header.floating()) return regression_targets(read_floats(reader), width, where);
    const bool bytes = header.type == ElementType::u8;
    const Array<std::int64_t> values = read_integers(reader);
    if (width == 1) return class_targets(values.span(), bytes, hints, where);
    return multilabel_targets(values.span(), width, hints, where);
}

}  // namespace rudder::graph
