#include "export_table.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/staging.hpp"
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

std::vector<OutputColumn> vertex_columns(const ExportSource& source) {
    const DatasetInfo& info = source.info();
    std::vector<OutputColumn> columns{id_column("id", source.ids())};
    for (std::uint64_t i = 0; i < info.features.width; ++i)
        columns.push_back({fmt::format("x{}", i), CellKind::real});
    add_label_columns(info.targets, columns);
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

void write_vertices(const ExportSource& source, TableWriter& writer, Progress& progress) {
    const DatasetInfo& info = source.info();
    FeatureInfo stored = info.features;
    stored.row_normalise = false;
    std::vector<float> row(stored.width);
    for (VertexId v = 0; v < info.vertices; ++v) {
        put_id(writer, source.ids(), v);
        if (stored.present()) {
            decode_row(stored, source.feature_row(v), source.feature_scale(), row);
            for (const float value : row)
                writer.real(value);
        }
        put_label(writer, source, v);
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

void write_edges(const ExportSource& source, TableWriter& writer, Progress& progress) {
    const DatasetInfo& info = source.info();
    std::vector<ExportedArc> row;
    std::vector<float> values(info.edge_features.width);
    for (VertexId v = 0; v < info.vertices; ++v) {
        source.row(v, row);
        std::ranges::stable_sort(row, {}, &ExportedArc::source);
        for (const ExportedArc& arc : row) {
            if (info.symmetric && arc.source > v) break;
            put_id(writer, source.ids(), arc.source);
            put_id(writer, source.ids(), v);
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

std::vector<OutputColumn> edge_columns(const ExportSource& source) {
    const DatasetInfo& info = source.info();
    std::vector<OutputColumn> columns{id_column("source", source.ids()),
                                      id_column("target", source.ids())};
    if (info.edge_weight) columns.push_back({"weight", CellKind::real});
    if (info.edge_time) columns.push_back({"time", CellKind::integer});
    for (std::uint64_t i = 0; i < info.edge_features.width; ++i)
        columns.push_back({fmt::format("e{}", i), CellKind::real});
    add_label_columns(info.edge_targets, columns);
    if (info.edge_split) columns.push_back({"split", CellKind::text});
    return columns;
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

void export_table(const ExportSource& source, GraphTable table, OutputFormat format,
                  const std::filesystem::path& output, bool force, Progress& progress) {
    Staging staging = Staging::file(output, force ? Existing::replace : Existing::refuse);
    progress.phase("exporting", source.info().vertices);
    const bool vertices = table == GraphTable::vertices;
    const auto writer = make_table_writer(format, staging.path(),
                                          vertices ? vertex_columns(source) : edge_columns(source));
    if (vertices) {
        write_vertices(source, *writer, progress);
    } else {
        write_edges(source, *writer, progress);
    }
    writer->finish();
    staging.commit();
    progress.done();
}

}  // namespace rudder::graph
