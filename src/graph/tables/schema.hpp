// What the tables of a graph mean: which columns are ids, features, targets, weights, times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/vertex_ids.hpp"

namespace rudder::graph {

/// How the cells of a feature column become numbers: one number; one column of 0 and 1 for each
/// category; several numbers, of a list or of a text such as "0.1;0.2".
enum class FeatureKind : std::uint8_t { number, category, list };
/// What a missing cell becomes.
enum class MissingValues : std::uint8_t { refuse, zero, mean };

struct FeatureColumn {
    std::string column;
    std::optional<FeatureKind> kind{};       ///< else list for lists, number for all others
    std::optional<MissingValues> missing{};  ///< else that of the import
};

enum class LabelKind : std::uint8_t { classes, multilabel, number };

struct LabelColumn {
    std::string column;
    std::optional<LabelKind> kind{};  ///< else number for fractions, classes for all others
    std::vector<std::string> none{};  ///< what stands for no label, beside a missing cell
    std::string separator = ";";      ///< between the classes of a multi-label cell
};

/// A type of vertices: one table.
struct VertexTable {
    std::string type = "vertex";
    std::vector<std::string> files;
    std::string id = "id";
    std::optional<IdKind> id_kind{};  ///< else as the first row's id
    std::vector<FeatureColumn> features{};
    std::vector<LabelColumn> label{};  ///< one; several are numbers
    std::string split{};
    std::string time{};
};

/// A type of edges: one table.
struct EdgeTable {
    std::string type = "edge";
    std::vector<std::string> files;
    std::string from{};  ///< types of its vertices; empty: the only one
    std::string to{};
    std::string source = "source";
    std::string target = "target";
    std::string weight{};
    std::string time{};
    std::vector<FeatureColumn> features{};
    std::vector<LabelColumn> label{};  ///< one; several are numbers
    std::string split{};
};

struct TableSchema {
    std::filesystem::path base{};  ///< what relative paths of files start at
    std::vector<VertexTable> vertices;
    std::vector<EdgeTable> edges;
};

/// Reads a schema of TOML. Unknown keys, missing ones and values of another kind are input Errors
/// with file and line; so is an edge type whose vertex type has no table.
[[nodiscard]] TableSchema read_schema(const std::filesystem::path& file);
[[nodiscard]] TableSchema parse_schema(std::string_view text, const std::filesystem::path& file);

/// A schema as TOML, which `parse_schema` reads back.
[[nodiscard]] std::string schema_text(const TableSchema& schema);

/// What two tables mean by the names of their columns, and what was left out, in sentences.
struct GuessedSchema {
    TableSchema schema;
    std::vector<std::string> said;
};
[[nodiscard]] GuessedSchema guess_schema(const std::string& vertices, const std::string& edges);

}  // namespace rudder::graph
