// Data sets from Python: made of files, divided, described.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/graph/dataset.hpp"

namespace rudder::python {

struct ImportRequest {
    std::string input;  ///< an archive of NumPy's arrays
    std::string output;
    bool directed = false;
    std::string split;  ///< used where the archive gives none; empty: the default
    std::uint64_t seed = 0;
    bool force = false;
};
void import_arrays(const ImportRequest& request);

struct DivideRequest {
    std::string data;
    std::string output;
    std::uint64_t parts = 1;
    std::string method;  ///< empty: the default
    std::uint64_t seed = 0;
    bool force = false;
};
void divide(const DivideRequest& request);

/// What lies there, a data set or parts, as an object of JSON; an input Error otherwise.
[[nodiscard]] std::string described(const std::string& path);

/// The rows of a data set, or of all parts: row v lists what v receives from, as an edge's number
/// in a batch counts them.
struct GraphArrays {
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> neighbours;
    std::vector<std::int64_t> original_ids;  ///< by vertex; of a data set the vertices themselves
};
[[nodiscard]] GraphArrays graph_arrays(const std::string& path);

/// A type of vertices as programs are told of it.
struct NodeType {
    std::string name;
    std::uint64_t count = 0;
    std::uint64_t width = 0;  ///< of its rows
};
/// A type of edges: by its ends' types, and its own name.
struct EdgeTypeName {
    std::string from;
    std::string name;
    std::string to;
};
/// Those of a graph of several types; none where it has one.
[[nodiscard]] std::vector<NodeType> node_types(const graph::DatasetInfo& info);
[[nodiscard]] std::vector<EdgeTypeName> edge_type_names(const graph::DatasetInfo& info);
/// The type whose vertices have labels; the first where there is none.
[[nodiscard]] std::size_t labelled_type(const graph::DatasetInfo& info) noexcept;

/// The arcs of a data set or of all parts by type, whose vertices are counted by type: each type's
/// from 0, by ascending id.
struct TypedGraphArrays {
    std::vector<NodeType> node_types;
    std::vector<EdgeTypeName> edge_types;
    /// By type of edges: the sources of all arcs, row after row, then the destinations.
    std::vector<std::vector<std::int64_t>> edges;
    /// By type of vertices: which vertex of the type of the data set each is.
    std::vector<std::vector<std::int64_t>> original_ids;
};
/// An input Error for a graph of one type.
[[nodiscard]] TypedGraphArrays typed_graph_arrays(const std::string& path);

/// A folder with the checkpoint of another run or checkpoint, but other weights: flat, in the order
/// of its parameters. What lies there is refused.
struct WeightsRequest {
    std::string run;
    std::string output;
    std::vector<float> weights;
};
void write_weights(const WeightsRequest& request);

}  // namespace rudder::python
