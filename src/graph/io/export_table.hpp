// A data set's vertices or edges as a table that others can read: CSV or Parquet.
#pragma once

#include <string>

#include "graph/tables/table_writer.hpp"

#include "export.hpp"

namespace rudder::graph {

enum class GraphTable : std::uint8_t { vertices, edges };

/// Which table.
struct TableChoice {
    GraphTable table = GraphTable::vertices;
    std::string type{};  ///< of vertices or edges, in a graph of several; else empty
};

/// Writes a table in the user's ids and names of classes. Vertices: `id`, `x0`, `x1`, ...
/// (features), `label` (several numbers: `label0`, ...), `split`, `time`, and for a partition
/// `part`. Edges: `source`, `target`, `weight`, `time`, `e0`, `e1`, ... (features), each edge of a
/// symmetric graph once. Of a graph of several types those of one, whose name is given: a usage
/// Error that lists the names otherwise. The output appears whole or not at all.
void export_table(const ExportSource& source, const TableChoice& choice, OutputFormat format,
                  const std::filesystem::path& output, bool force, Progress& progress);

/// Writes the id of a vertex: the user's, or its number.
void put_id(TableWriter& writer, const VertexIds& ids, VertexId v);
/// The column it stands in.
[[nodiscard]] OutputColumn id_column(std::string name, const VertexIds& ids);

/// The name of a class, or its number where it has none.
[[nodiscard]] std::string class_name(const TargetInfo& targets, std::uint64_t number);
/// The names of the classes of a multi-label row, with ; between them.
[[nodiscard]] std::string joined_classes(const TargetInfo& targets,
                                         std::span<const std::uint8_t> row);

}  // namespace rudder::graph
