// Tables as a graph that can be written as a data set.
#pragma once

#include <string>

#include "graph/io/import.hpp"
#include "graph/vertex_ids.hpp"
#include "rudder/graph/io/graph_reader.hpp"

#include "edge_table.hpp"

namespace rudder::graph {

/// What tables hold, beside what every format holds.
struct TableGraph {
    RawGraph graph;
    VertexIds ids;
    std::string schema;  ///< as TOML
};

/// Whether the input is tables: a schema, or a second file.
[[nodiscard]] bool names_tables(const ImportOptions& options);

/// Reads the tables of a schema, or those two whose schema is guessed (and said). `folder` is where
/// what does not fit the memory waits. Several types of vertices or edges are a usage Error.
[[nodiscard]] TableGraph read_tables(const ImportOptions& options,
                                     const std::filesystem::path& folder, Progress& progress);

}  // namespace rudder::graph
