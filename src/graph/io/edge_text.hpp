// Lines of two ids each, as edge lists and OGB's folders have them.
#pragma once

#include <vector>

#include "edge_blocks.hpp"
#include "text_input.hpp"

namespace rudder::graph {

/// Reads an id that must be below `limit`.
[[nodiscard]] VertexId read_id(LineCursor& cursor, VertexId limit);

/// Parses the rest of a text as edges, one per line; blank lines and comments are passed over,
/// words after the second ignored (said once). Ids must be below `limit`.
[[nodiscard]] std::vector<EdgeBlock> parse_edge_lines(TextInput& text, VertexId limit,
                                                      Progress& progress);

/// Ids without a known bound are below this.
inline constexpr VertexId any_id = VertexId{1} << 62;

}  // namespace rudder::graph
