// Tables of several types as one graph: one space of ids, type after type.
#pragma once

#include <memory>

#include "import_tables.hpp"
#include "schema.hpp"
#include "spill.hpp"

namespace rudder::graph {

/// Reads the tables of a schema that has several types of vertices or of edges. At most one type of
/// vertices has labels; all types of edges have weights (times) or none has.
[[nodiscard]] TableGraph read_typed_tables(const TableSchema& schema, const ImportOptions& options,
                                           const std::shared_ptr<SpillRoom>& room,
                                           Progress& progress);

}  // namespace rudder::graph
