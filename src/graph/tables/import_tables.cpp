#include "import_tables.hpp"

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "schema.hpp"
#include "table_parts.hpp"
#include "typed_tables.hpp"
#include "vertex_table.hpp"

namespace rudder::graph {

namespace {

/// A folder in front of a pattern: what patterns use stands for itself in it.
std::filesystem::path as_pattern(const std::filesystem::path& folder) {
    std::string escaped;
    for (const char c : folder.string()) {
        if (std::string_view("*?[\\").find(c) != std::string_view::npos) escaped += '\\';
        escaped += c;
    }
    return escaped;
}

/// Files as they are found from anywhere.
void make_absolute(std::vector<std::string>& files, const std::filesystem::path& base) {
    const std::filesystem::path folder = std::filesystem::absolute(base / ".").lexically_normal();
    for (std::string& file : files) {
        std::error_code code;
        const bool pattern = file.find_first_of("*?[") != std::string::npos &&
                             !std::filesystem::exists(folder / file, code);
        const std::filesystem::path from = pattern ? as_pattern(folder) : folder;
        file = (from / file).lexically_normal().string();
    }
}

TableSchema schema_of(const ImportOptions& options) {
    if (options.edge_table.empty()) {
        TableSchema schema = read_schema(options.input);
        for (VertexTable& table : schema.vertices)
            make_absolute(table.files, schema.base);
        for (EdgeTable& table : schema.edges)
            make_absolute(table.files, schema.base);
        return schema;
    }
    GuessedSchema guess = guess_schema(options.input.string(), options.edge_table.string());
    for (const std::string& sentence : guess.said)
        log::info(sentence);
    return std::move(guess.schema);
}

std::shared_ptr<SpillRoom> room_for(const ImportOptions& options,
                                    const std::filesystem::path& folder) {
    auto room = std::make_shared<SpillRoom>();
    room->folder = folder;
    room->bytes_left = options.memory != 0 ? options.memory : memory_info().available / 4;
    return room;
}

}  // namespace

bool names_tables(const ImportOptions& options) {
    return !options.edge_table.empty() || options.input.extension() == ".toml";
}

TableGraph read_tables(const ImportOptions& options, const std::filesystem::path& folder,
                       Progress& progress) {
    const TableSchema schema = schema_of(options);
    const auto room = room_for(options, folder);
    if (schema.vertices.size() > 1 || schema.edges.size() > 1)
        return read_typed_tables(schema, options, room, progress);
    const VertexTable& vertices = schema.vertices.front();
    const EdgeTable& edges = schema.edges.front();
    const Table vertex_table(matching_files(vertices.files, {}));
    const Table edge_table(matching_files(edges.files, {}));
    ReadVertices read = read_vertex_table(vertex_table, vertices, options.missing, room, progress);
    TableGraph tables;
    tables.ids = std::move(read.ids);
    tables.schema = schema_text(schema);
    progress.phase("mapping ids", 0);
    const auto map = map_ids(tables.ids, vertex_table, vertices);
    auto made = read_edge_table(edge_table, edges, {{*map, 0}, {*map, 0}, tables.ids.size()},
                                options.unknown, options.missing, room, progress);
    warn_dropped(*made, {});
    tables.graph.edge_data = made->take_data();
    tables.graph.vertices = tables.ids.size();
    tables.graph.edges = std::move(made);
    tables.graph.features = std::move(read.features);
    tables.graph.targets = std::move(read.targets);
    tables.graph.roles = std::move(read.roles);
    tables.graph.vertex_times = std::move(read.times);
    return tables;
}

}  // namespace rudder::graph
