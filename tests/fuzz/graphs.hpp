// What the fuzzers of graphs share: edges of a reader, equal data sets, and the way through import
// and export.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "graph/io/import.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/io/graph_reader.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {

/// More are not walked: what they would find, small graphs find faster.
inline constexpr VertexId most_vertices = 1 << 12;

/// Edges in ascending order.
struct PlainGraph {
    VertexId vertices = 0;
    std::vector<graph::Edge> edges;
    friend bool operator==(const PlainGraph&, const PlainGraph&) = default;
};
[[nodiscard]] PlainGraph plain(const graph::RawGraph& graph);
/// Reads a file in that format.
[[nodiscard]] PlainGraph read_plain(const std::string& format, const std::filesystem::path& file);

/// A small data set with features, classes and a split, made anew in `name` of the scratch folder.
std::filesystem::path make_dataset(const std::string& name, const std::string& kind = "sbm");

void expect_same(const graph::Dataset& a, const graph::Dataset& b);
/// Imports, exports and imports again; both data sets must pass every check and be equal.
void round_trip(const graph::ImportOptions& options);

}  // namespace rudder::fuzz
