// A table of vertices: ids, features, targets, split and times, read in one pass.
#pragma once

#include <memory>
#include <optional>

#include "graph/vertex_ids.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/graph/io/graph_reader.hpp"

#include "schema.hpp"
#include "spill.hpp"
#include "table_source.hpp"

namespace rudder::graph {

/// What a table of vertices holds, in the order of its rows.
struct ReadVertices {
    VertexIds ids;
    std::unique_ptr<FeatureSource> features;  ///< null where there are none
    std::optional<Targets> targets;
    std::optional<Array<Role>> roles;
    std::optional<Array<std::int64_t>> times;  ///< `no_time` for those without
};

/// Reads a table of vertices. An id that occurs twice is found later, by the map of ids.
[[nodiscard]] ReadVertices read_vertex_table(const Table& table, const VertexTable& meaning,
                                             MissingValues missing,
                                             const std::shared_ptr<SpillRoom>& room,
                                             Progress& progress);

}  // namespace rudder::graph
