// NPZ archives of graphs of several types.
#pragma once

#include <optional>

#include "graph/tables/import_tables.hpp"

#include "feature_sources.hpp"
#include "npz_reader.hpp"

namespace rudder::graph {

/// The graph of an archive as `rudder export` writes one of several types: `node_type` (which must
/// ascend) and `edge_type`, `node_types` and `edge_types` (as "from name to"), rows in `x_NAME` or
/// `x_NAME_int8`, all else as in an archive of one type. None where the archive has no
/// `node_types`. Unless the import is directed, edges between different types go back as
/// `rev_NAME`, which may be among the types if it has no edges. Ids by type (`id_NAME`) are not
/// read.
[[nodiscard]] std::optional<TableGraph> read_typed_npz(const ImportOptions& options);

}  // namespace rudder::graph
