// Tables as a graph that can be written as a data set.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/io/import.hpp"
#include "graph/vertex_ids.hpp"
#include "rudder/graph/io/graph_reader.hpp"

#include "edge_table.hpp"

namespace rudder::graph {

/// What a table of one type of several holds besides.
struct TableType {
    VertexIds ids;
    std::unique_ptr<FeatureSource> features;  ///< null where there are none
};

/// What tables hold, beside what every format holds.
struct TableGraph {
    RawGraph graph;
    VertexIds ids;       ///< of the only type
    std::string schema;  ///< as TOML
    GraphTypes types;    ///< of several; the graph then has no features
    std::vector<TableType> of_types;
    std::vector<EdgesOfType> edge_types;
};

/// Whether the input is tables: a schema, or a second file.
[[nodiscard]] bool names_tables(const ImportOptions& options);

/// Reads the tables of a schema, or those two whose schema is guessed (and said). `folder` is where
/// what does not fit the memory waits. Of several types vertices have the order of the tables, and
/// unless the import is directed each type of edges between different types of vertices has a type
/// that goes back, `rev_NAME`.
[[nodiscard]] TableGraph read_tables(const ImportOptions& options,
                                     const std::filesystem::path& folder, Progress& progress);

}  // namespace rudder::graph
