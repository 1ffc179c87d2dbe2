// What two tables mean by the names of their columns.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "cells.hpp"
#include "id_map.hpp"
#include "schema.hpp"

namespace rudder::graph {

namespace {

std::vector<std::string> absolute(const std::vector<std::filesystem::path>& files) {
    std::vector<std::string> paths;
    for (const auto& file : files)
        paths.push_back(std::filesystem::absolute(file).lexically_normal().string());
    return paths;
}

std::string named(const std::vector<std::string>& columns) {
    constexpr std::size_t most = 8;
    const std::vector<std::string_view> words(columns.begin(), columns.end());
    if (words.size() <= most) return join(words, ", ");
    return fmt::format("{} and {} more", join(std::span(words).first(most), ", "),
                       words.size() - most);
}

/// Whether the cells of a column look like numbers, by the first.
bool is_numeric(const ColumnSample& sample) {
    if (sample.kind == CellKind::integer || sample.kind == CellKind::real) return true;
    return sample.kind == CellKind::text && sample.first && parse_number(*sample.first);
}

std::string class_or_number(const ColumnSample& sample, LabelColumn& label) {
    const bool fraction = sample.first && parse_number(*sample.first) &&
                          !plain_integer(*sample.first) && sample.kind != CellKind::list;
    label.kind = fraction || sample.kind == CellKind::real ? LabelKind::number : LabelKind::classes;
    return label.kind == LabelKind::number ? "numbers" : "classes";
}

void guess_vertices(const Table& table, GuessedSchema& guess) {
    VertexTable vertices;
    vertices.files = absolute(table.files());
    if (!table.has("id")) {
        throw input_error(
            fmt::format("missing column 'id' among: {}", named(table.columns())),
            table.files().front().string(),
            "call the column of ids 'id', or describe the tables in a schema (docs/tables.md)");
    }
    const auto samples = sample_columns(table, table.columns());
    std::vector<std::string> features;
    std::vector<std::string> left_out;
    std::string what = "id";
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const std::string& name = table.columns()[i];
        if (name == "id") {
            const bool text = samples[i].kind == CellKind::text &&
                              !(samples[i].first && plain_integer(*samples[i].first));
            what += text ? " (text)" : " (integers)";
            vertices.id_kind = text ? IdKind::text : IdKind::integer;
        } else if (name == "label") {
            LabelColumn label{.column = name};
            what += fmt::format(", label ({})", class_or_number(samples[i], label));
            vertices.label.push_back(std::move(label));
        } else if (name == "split") {
            vertices.split = name;
            what += ", split";
        } else if (name == "time") {
            vertices.time = name;
            what += ", time";
        } else if (is_numeric(samples[i])) {
            vertices.features.push_back({.column = name, .kind = FeatureKind::number});
            features.push_back(name);
        } else if (samples[i].kind == CellKind::list) {
            vertices.features.push_back({.column = name, .kind = FeatureKind::list});
            features.push_back(name);
        } else {
            left_out.push_back(name);
        }
    }
    guess.said.push_back(fmt::format("vertices: {}", what));
    if (!features.empty()) {
        guess.said.push_back(fmt::format("features: {} column{}: {}", features.size(),
                                         features.size() == 1 ? "" : "s", named(features)));
    }
    if (!left_out.empty()) {
        guess.said.push_back(
            fmt::format("left out, since their first cell is not a number: {}", named(left_out)));
    }
    guess.schema.vertices.push_back(std::move(vertices));
}

/// The first of some names that a table has.
std::string first_name(const Table& table, std::span<const std::string_view> names,
                       std::string_view what) {
    for (const std::string_view name : names) {
        if (table.has(name)) return std::string(name);
    }
    throw input_error(
        fmt::format("missing column '{}' among: {}", names.front(), named(table.columns())),
        table.files().front().string(),
        fmt::format("call the column of {} '{}', or describe the tables in a schema "
                    "(docs/tables.md)",
                    what, names.front()));
}

void guess_edges(const Table& table, GuessedSchema& guess) {
    constexpr std::array<std::string_view, 3> source_names{"source", "src", "from"};
    constexpr std::array<std::string_view, 3> target_names{"target", "dst", "to"};
    EdgeTable edges;
    edges.files = absolute(table.files());
    edges.source = first_name(table, source_names, "sources");
    edges.target = first_name(table, target_names, "targets");
    std::string what = fmt::format("{} -> {}", edges.source, edges.target);
    if (table.has("weight")) {
        edges.weight = "weight";
        what += ", weight";
    }
    if (table.has("time")) {
        edges.time = "time";
        what += ", time";
    }
    if (table.has("label")) {
        LabelColumn label{.column = "label"};
        what += fmt::format(", label ({})",
                            class_or_number(sample_columns(table, {"label"}).front(), label));
        edges.label.push_back(std::move(label));
    }
    if (table.has("split")) {
        edges.split = "split";
        what += ", split";
    }
    std::vector<std::string> left_out;
    for (const std::string& name : table.columns()) {
        if (name != edges.source && name != edges.target && name != edges.weight &&
            name != edges.time && name != edges.split && name != "label") {
            left_out.push_back(name);
        }
    }
    guess.said.push_back(fmt::format("edges: {}", what));
    if (!left_out.empty()) {
        guess.said.push_back(fmt::format(
            "left out of the edges, unless a schema makes features of them: {}", named(left_out)));
    }
    guess.schema.edges.push_back(std::move(edges));
}

}  // namespace

GuessedSchema guess_schema(const std::string& vertices, const std::string& edges) {
    GuessedSchema guess;
    guess_vertices(Table(matching_files({vertices}, {})), guess);
    guess_edges(Table(matching_files({edges}, {})), guess);
    return guess;
}

}  // namespace rudder::graph
