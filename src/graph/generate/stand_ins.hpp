// Stand-ins for the data sets of published evaluations: graphs that are made, of their size and
// shape.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "generate.hpp"

namespace rudder::graph {

/// What is published of a data set, and what is planted so that the made graph resembles it.
struct StandIn {
    std::string_view name;
    VertexId vertices;
    EdgeIndex edges;         ///< undirected
    std::uint64_t features;  ///< columns; where none are published, as many as are usual
    std::uint64_t classes;
    SplitFractions split;       ///< of all vertices
    std::uint64_t communities;  ///< planted, as are the next two
    double inside;
    double skew;
    bool bare = false;    ///< published without features, targets and split
    bool labels = false;  ///< published with several labels per vertex: here each has one class
};

/// All that are known, the smallest first.
[[nodiscard]] std::span<const StandIn> stand_ins();

/// Whether a kind of graph is a stand-in: "like:NAME".
[[nodiscard]] bool is_stand_in(std::string_view kind);
/// The stand-in of that kind; a usage Error that lists the known ones otherwise.
[[nodiscard]] const StandIn& stand_in(std::string_view kind);
/// The kinds as they are typed: "like:arxiv", ...
[[nodiscard]] std::span<const std::string> stand_in_kinds();

/// Options that make the stand-in their kind names, at their scale: as many vertices, edges and
/// communities as published times the scale, so that degrees stay. What they say of features and
/// the split stays. A usage Error for a scale outside (0, 1].
[[nodiscard]] GenerateOptions stand_in_options(const GenerateOptions& options);

}  // namespace rudder::graph
