// The readers of the program's own formats, one source file each.
#pragma once

#include "rudder/graph/io/graph_reader.hpp"

namespace rudder::graph {

using ReadGraph = RawGraph(const ReadOptions& options, Progress& progress);
ReadGraph read_binary;
ReadGraph read_metis;
ReadGraph read_mtx;
ReadGraph read_ogb;
/// The first line of a CSV file may hold names of columns.
enum class FirstLine { edge, may_be_names };
[[nodiscard]] RawGraph read_edge_list(const ReadOptions& options, Progress& progress,
                                      FirstLine first);

}  // namespace rudder::graph
