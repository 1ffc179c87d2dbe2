// Types of vertices and edges in manifests, and the names of what lies on disk by type.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rudder/core/function_ref.hpp"
#include "rudder/core/json_fwd.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::graph {

/// Puts the types under "vertex_types" and "edge_types", if there are any, and reads them back (an
/// input Error naming `where` if they are impossible).
void describe_types(const GraphTypes& types, Json& manifest);
[[nodiscard]] GraphTypes types_of(const Json& manifest, const std::string& where);

/// Types as programs read them: `info --json`.
[[nodiscard]] Json vertex_types_json(const GraphTypes& types);
[[nodiscard]] Json edge_types_json(const GraphTypes& types);

/// The name of an array of one type of vertices, such as "features_0".
[[nodiscard]] std::string type_array(std::string_view name, std::size_t type);

/// Names of types stand in options and columns: an input Error unless it has 1 to 64 letters,
/// digits, _, - or . of ASCII and begins with a letter, digit or _.
void check_type_name(std::string_view name, const std::string& where);

/// Which types rows and their entries are of.
struct TypesOfEnds {
    FunctionRef<std::size_t(VertexId)> row;
    FunctionRef<std::size_t(VertexId)> neighbour;
};

/// Checks that every entry has a type that joins the types of its ends, that entries of equal ids
/// are in the order of type, and that there are as many of each as the manifest says.
void check_edge_types(const TopologyView& graph, std::span<const std::uint8_t> types,
                      const GraphTypes& of, const TypesOfEnds& ends, const std::string& where);

}  // namespace rudder::graph
