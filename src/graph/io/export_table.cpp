#include "export_table.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/staging.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/features.hpp"

namespace rudder::graph {

namespace {

constexpr VertexId told_vertices = 1 << 12;

std::string_view split_word(Role role) {
    switch (role) {
        case Role::train:
            return "train";
        case Role::valid:
            return "valid";
        case Role::test:
            return "test";
        case Role::none:
            break;
    }
    return "";
}

/// The columns of a label, if there is one.
void add_label_columns(const TargetInfo& targets, std::vector<OutputColumn>& columns) {
    if (targets.kind == TargetKind::regression) {
        for (std::uint64_t i = 0; i < targets.count; ++i) {
            columns.push_back(
                {targets.count == 1 ? "label" : fmt::format("label{}", i), CellKind::real});
        }
    } else if (targets.kind != TargetKind::none) {
        columns.push_back({"label", CellKind::text});
    }
}

/// The vertices of a table: all, or those of one type.
struct TableVertices {
    VertexId first = 0;
    VertexId last = 0;
    FeatureInfo features;
    std::span<const float> scale;
    const VertexIds& ids;
    bool labels = false;  ///< whether there is a column of them
};

bool is_labelled(const ExportSource& source, VertexId v) {
    switch (source.info().targets.kind) {
        case TargetKind::none:
            return false;
        case TargetKind::classes:
            return source.class_of(v) != no_label;
        case TargetKind::multilabel:
            return source.multilabel_of(v).front() != no_multilabel;
        case TargetKind::regression:
            return source.regression_of(v).front() == source.regression_of(v).front();
    }
    return false;
}

TableVertices all_vertices(const ExportSource& source) {
    const DatasetInfo& info = source.info();
    return {0,
            info.vertices,
            info.features,
            source.feature_scale(),
            source.ids(),
            info.targets.kind != TargetKind::none};
}

/// A type has a column of labels where one of its vertices has a label.
TableVertices vertices_of(const ExportSource& source, std::size_t number) {
    const VertexType& type = source.info().types.vertices[number];
    TableVertices of{type.first,
                     type.first + type.vertices,
                     type.features,
                     source.type_scale(number),
                     source.type_ids(number),
                     false};
    for (VertexId v = of.first; v < of.last && !of.labels; ++v)
        of.labels = is_labelled(source, v);
    return of;
}

std::vector<OutputColumn> vertex_columns(const ExportSource& source, const TableVertices& of) {
    const DatasetInfo& info = source.info();
    std::vector<OutputColumn> columns{id_column("id", of.ids)};
    for (std::uint64_t i = 0; i < of.features.width; ++i)
        columns.push_back({fmt::format("x{}", i), CellKind::real});
    if (of.labels) add_label_columns(info.targets, columns);
    columns.push_back({"split", CellKind::text});
    if (info.vertex_time) columns.push_back({"time", CellKind::integer});
    if (source.partitioned()) columns.push_back({"part", CellKind::integer});
    return columns;
}

void put_class(TableWriter& writer, const TargetInfo& targets, std::int32_t label) {
    if (label == no_label) return writer.missing();
    writer.text(class_name(targets, static_cast<std::uint64_t>(label)));
}

void put_classes(TableWriter& writer, const TargetInfo& targets,
                 std::span<const std::uint8_t> row) {
    if (!row.empty() && row.front() == no_multilabel) return writer.missing();
    writer.text(joined_classes(targets, row));
}

void put_numbers(TableWriter& writer, std::span<const float> row) {
    for (const float value : row)
        value == value ? writer.real(value) : writer.missing();  // NaN: no label
}

void put_label(TableWriter& writer, const ExportSource& source, VertexId v) {
    const TargetInfo& targets = source.info().targets;
    switch (targets.kind) {
        case TargetKind::none:
            return;
        case TargetKind::classes:
            return put_class(writer, targets, source.class_of(v));
        case TargetKind::multilabel:
            return put_classes(writer, targets, source.multilabel_of(v));
        case TargetKind::regression:
            return put_numbers(writer, source.regression_of(v));
    }
}

void put_edge_label(TableWriter& writer, const TargetInfo& targets, const ExportedArc& arc) {
    switch (targets.kind) {
        case TargetKind::none:
            return;
        case TargetKind::classes:
            return put_class(writer, targets, arc.label);
        case TargetKind::multilabel:
            return put_classes(writer, targets, arc.multilabel);
        case TargetKind::regression:
            return put_numbers(writer, arc.numbers);
    }
}

void put_split(TableWriter& writer, Role role) {
    const std::string_view split = split_word(role);
    split.empty() ? writer.missing() : writer.text(split);
}

void write_vertices(const ExportSource& source, const TableVertices& of, TableWriter& writer,
                    Progress& progress) {
    const DatasetInfo& info = source.info();
    FeatureInfo stored = of.features;
    stored.row_normalise = false;
    std::vector<float> row(stored.width);
    for (VertexId v = of.first; v < of.last; ++v) {
        put_id(writer, of.ids, v - of.first);
        if (stored.present()) {
            decode_row(stored, source.feature_row(v), of.scale, row);
            for (const float value : row)
                writer.real(value);
        }
        if (of.labels) put_label(writer, source, v);
        put_split(writer, source.role(v));
        if (info.vertex_time) {
            const std::int64_t time = source.time_of(v);
            time == no_time ? writer.missing() : writer.integer(time);
        }
        if (source.partitioned()) writer.integer(source.part(v));
        writer.end_row();
        if (v % told_vertices == 0) progress.advance(told_vertices);
    }
}

/// The edges of a table: all, or those of one type.
struct TableEdgesOf {
    TableVertices sources;
    TableVertices targets;
    std::optional<std::size_t> type{};

    /// Whether an entry of row v is written.
    [[nodiscard]] bool has(const DatasetInfo& info, const ExportedArc& arc, VertexId v) const {
        if (!type) return exported_once(info, arc, v);
        const EdgeType& own = info.types.edges[*type];
        return arc.type == *type && (!info.symmetric || own.from != own.to || arc.source <= v);
    }
};

void write_edges(const ExportSource& source, const TableEdgesOf& of, TableWriter& writer,
                 Progress& progress) {
    const DatasetInfo& info = source.info();
    std::vector<ExportedArc> row;
    std::vector<float> values(info.edge_features.width);
    for (VertexId v = of.targets.first; v < of.targets.last; ++v) {
        source.row(v, row);
        std::ranges::stable_sort(row, {}, &ExportedArc::source);
        for (const ExportedArc& arc : row) {
            if (!of.has(info, arc, v)) continue;
            put_id(writer, of.sources.ids, arc.source - of.sources.first);
            put_id(writer, of.targets.ids, v - of.targets.first);
            if (info.edge_weight) writer.real(arc.weight);
            if (info.edge_time) writer.integer(arc.time);
            if (info.edge_features.present()) {
                decode_row(info.edge_features, arc.features, {}, values);
                for (const float value : values)
                    writer.real(value);
            }
            put_edge_label(writer, info.edge_targets, arc);
            if (info.edge_split) put_split(writer, arc.role);
            writer.end_row();
        }
        if (v % told_vertices == 0) progress.advance(told_vertices);
    }
}

std::vector<OutputColumn> edge_columns(const ExportSource& source, const TableEdgesOf& of) {
    const DatasetInfo& info = source.info();
    std::vector<OutputColumn> columns{id_column("source", of.sources.ids),
                                      id_column("target", of.targets.ids)};
    if (info.edge_weight) columns.push_back({"weight", CellKind::real});
    if (info.edge_time) columns.push_back({"time", CellKind::integer});
    for (std::uint64_t i = 0; i < info.edge_features.width; ++i)
        columns.push_back({fmt::format("e{}", i), CellKind::real});
    add_label_columns(info.edge_targets, columns);
    if (info.edge_split) columns.push_back({"split", CellKind::text});
    return columns;
}

/// The number of the type that is chosen, of those that the graph has; none where it has one type.
template <class Type>
std::optional<std::size_t> chosen_type(const std::vector<Type>& types, const std::string& name) {
    if (types.empty() && name.empty()) return std::nullopt;
    std::vector<std::string_view> names;
    for (std::size_t t = 0; t < types.size(); ++t) {
        if (types[t].name == name) return t;
        names.push_back(types[t].name);
    }
    if (names.empty()) {
        throw usage_error(fmt::format("unknown type '{}': the graph has one type", name), "--type",
                          "leave it out");
    }
    throw usage_error(name.empty()
                          ? std::string("a table is of one type, and the graph has several")
                          : fmt::format("unknown type '{}'", name),
                      "--type", fmt::format("use one of {}", join(names, ", ")));
}

TableEdgesOf edges_of(const ExportSource& source, const std::string& name) {
    const GraphTypes& types = source.info().types;
    const auto type = chosen_type(types.edges, name);
    if (!type) return {all_vertices(source), all_vertices(source), {}};
    return {vertices_of(source, types.edges[*type].from),
            vertices_of(source, types.edges[*type].to), type};
}

}  // namespace

OutputColumn id_column(std::string name, const VertexIds& ids) {
    return {std::move(name), ids.kind() == IdKind::text ? CellKind::text : CellKind::integer};
}

void put_id(TableWriter& writer, const VertexIds& ids, VertexId v) {
    if (!ids.kind()) return writer.integer(static_cast<std::int64_t>(v));
    if (*ids.kind() == IdKind::integer) return writer.integer(ids.numbers()[v]);
    writer.text(ids.text(v));
}

std::string class_name(const TargetInfo& targets, std::uint64_t number) {
    return number < targets.names.size() ? targets.names[number] : std::to_string(number);
}

std::string joined_classes(const TargetInfo& targets, std::span<const std::uint8_t> row) {
    std::string joined;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] == 1) joined += (joined.empty() ? "" : ";") + class_name(targets, i);
    }
    return joined;
}

void export_table(const ExportSource& source, const TableChoice& choice, OutputFormat format,
                  const std::filesystem::path& output, bool force, Progress& progress) {
    const auto begin = [&](std::vector<OutputColumn> columns, auto&& write) {
        Staging staging = Staging::file(output, force ? Existing::replace : Existing::refuse);
        progress.phase("exporting", source.info().vertices);
        const auto writer = make_table_writer(format, staging.path(), std::move(columns));
        write(*writer);
        writer->finish();
        staging.commit();
        progress.done();
    };
    if (choice.table == GraphTable::edges) {
        const TableEdgesOf of = edges_of(source, choice.type);
        return begin(edge_columns(source, of),
                     [&](TableWriter& writer) { write_edges(source, of, writer, progress); });
    }
    const auto type = chosen_type(source.info().types.vertices, choice.type);
    const TableVertices of = type ? vertices_of(source, *type) : all_vertices(source);
    begin(vertex_columns(source, of),
          [&](TableWriter& writer) { write_vertices(source, of, writer, progress); });
}

}  // namespace rudder::graph
