// The readers of the program's own formats, one source file each.
#pragma once

#include "rudder/graph/io/graph_reader.hpp"

namespace rudder::graph {

[[nodiscard]] RawGraph read_binary(const ReadOptions& options, Progress& progress);
[[nodiscard]] RawGraph read_metis(const ReadOptions& options, Progress& progress);
[[nodiscard]] RawGraph read_mtx(const ReadOptions& options, Progress& progress);
[[nodiscard]] RawGraph read_ogb(const ReadOptions& options, Progress& progress);
/// The first line of a CSV file may hold names of columns.
enum class FirstLine { edge, may_be_names };
[[nodiscard]] RawGraph read_edge_list(const ReadOptions& options, Progress& progress,
                                      FirstLine first);

}  // namespace rudder::graph
