// What imports of tables have in common, whether they have one type or several.
#pragma once

#include <memory>
#include <string>

#include "edge_table.hpp"
#include "id_map.hpp"
#include "schema.hpp"

namespace rudder::graph {

/// The map from ids to vertices; an id that two rows have is refused where the second stands.
[[nodiscard]] std::unique_ptr<IdMap> map_ids(const VertexIds& ids, const Table& table,
                                             const VertexTable& meaning);

/// Says how many edges were left out, of a type where there are several.
void warn_dropped(const TableEdges& edges, const std::string& type);

}  // namespace rudder::graph
