// Which vertices are trained on, validated on and tested on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "rudder/core/array.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/targets.hpp"

namespace rudder::graph {

/// The role of a vertex, one byte on disk.
enum class Role : std::uint8_t { none = 0, train = 1, valid = 2, test = 3 };

struct SplitCounts {
    VertexId train = 0;
    VertexId valid = 0;
    VertexId test = 0;
    friend bool operator==(const SplitCounts&, const SplitCounts&) = default;
};
[[nodiscard]] SplitCounts count_split(std::span<const Role> roles);

/// Shares of the labelled vertices, in shuffled order; what is left over has no role.
struct SplitFractions {
    double train = 0.6;
    double valid = 0.2;
    double test = 0.2;
};

/// Planetoid's way: `train` vertices of each class, then `valid` and `test` of the rest.
struct SplitPerClass {
    VertexId train = 20;
    VertexId valid = 500;
    VertexId test = 1000;
};

/// Shares of the labelled vertices in the order of their times: the earliest train. Those of equal
/// times are in shuffled order.
struct SplitByTime {
    SplitFractions shares;
};

using SplitRule = std::variant<SplitFractions, SplitPerClass, SplitByTime>;

/// Reads "60/20/20", "time:60/20/20" or "per-class:20/500/1000"; a usage Error otherwise.
[[nodiscard]] SplitRule parse_split(const std::string& text);

/// Draws a split of the labelled vertices (of all, where there are no targets); the same for the
/// same seed. A split by time needs the time of each of them: one that is missing is an input
/// Error.
[[nodiscard]] Array<Role> make_split(VertexId vertices, const TargetInfo& info,
                                     const TargetView& targets, const SplitRule& rule,
                                     std::uint64_t seed, std::span<const std::int64_t> times = {});

}  // namespace rudder::graph
