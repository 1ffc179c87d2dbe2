#include "stand_ins.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::graph {

namespace {

constexpr std::string_view stand_in_prefix = "like:";

// Sizes, columns, classes and splits are as published (docs/scale.md). Skews are those with which
// half of the vertices have at most the published median of degrees where that is known (6 of
// arxiv, 26 of products, 45 of orkut). Communities have 1,000 vertices; those of reddit are its 41
// forums.
constexpr std::array<StandIn, 7> stand_in_table{{
    {.name = "arxiv",
     .vertices = 169'343,
     .edges = 1'157'799,
     .features = 128,
     .classes = 40,
     .split = {0.537, 0.176, 0.287},
     .communities = 169,
     .inside = 0.8,
     .skew = 5.5},
    {.name = "reddit",
     .vertices = 232'965,
     .edges = 57'307'946,
     .features = 602,
     .classes = 41,
     .split = {0.659, 0.102, 0.239},
     .communities = 41,
     .inside = 0.75,
     .skew = 3},
    {.name = "yelp",
     .vertices = 716'847,
     .edges = 6'977'409,
     .features = 300,
     .classes = 100,
     .split = {0.75, 0.1, 0.15},
     .communities = 717,
     .inside = 0.8,
     .skew = 3,
     .labels = true},
    {.name = "products",
     .vertices = 2'449'029,
     .edges = 61'859'140,
     .features = 100,
     .classes = 47,
     .split = {0.0803, 0.0161, 0.9036},
     .communities = 2'449,
     .inside = 0.85,
     .skew = 4.8},
    {.name = "orkut",
     .vertices = 3'072'441,
     .edges = 117'185'083,
     .features = 100,
     .classes = 10,
     .split = {0.6, 0.2, 0.2},
     .communities = 3'072,
     .inside = 0.7,
     .skew = 3.1,
     .bare = true},
    {.name = "friendster",
     .vertices = 65'608'366,
     .edges = 1'806'067'135,
     .features = 100,
     .classes = 10,
     .split = {0.6, 0.2, 0.2},
     .communities = 65'608,
     .inside = 0.7,
     .skew = 3,
     .bare = true},
    {.name = "papers100M",
     .vertices = 111'059'956,
     .edges = 1'615'685'872,
     .features = 128,
     .classes = 172,
     .split = {0.01087, 0.00113, 0.00193},
     .communities = 111'060,
     .inside = 0.8,
     .skew = 3},
}};

template <class Count>
Count scaled_count(Count published, double scale) {
    return std::max<Count>(
        1, static_cast<Count>(std::llround(static_cast<double>(published) * scale)));
}

}  // namespace

std::span<const StandIn> stand_ins() {
    return stand_in_table;
}

bool is_stand_in(std::string_view kind) {
    return kind.starts_with(stand_in_prefix);
}

const StandIn& stand_in(std::string_view kind) {
    const std::span kinds = stand_in_kinds();
    const auto found = std::ranges::find(kinds, kind);
    if (found != kinds.end())
        return stand_in_table[static_cast<std::size_t>(found - kinds.begin())];
    const std::vector<std::string_view> known(kinds.begin(), kinds.end());
    throw usage_error(fmt::format("unknown stand-in '{}'", kind), "generate",
                      fmt::format("use one of {}", join(known, ", ")));
}

std::span<const std::string> stand_in_kinds() {
    static const auto kinds = [] {
        std::vector<std::string> made;
        for (const StandIn& each : stand_in_table)
            made.push_back(fmt::format("{}{}", stand_in_prefix, each.name));
        return made;
    }();
    return kinds;
}

GenerateOptions stand_in_options(const GenerateOptions& options) {
    const StandIn& like = stand_in(options.kind);
    if (!(options.scale > 0 && options.scale <= 1)) {
        throw usage_error(fmt::format("invalid scale: {}", options.scale), "--scale",
                          "give a number above 0, at most 1");
    }
    GenerateOptions made = options;
    made.kind = "sbm";
    made.generator.vertices = scaled_count(like.vertices, options.scale);
    made.generator.distinct_edges = scaled_count(like.edges, options.scale);
    made.generator.communities = scaled_count(like.communities, options.scale);
    made.generator.classes = like.classes;
    made.generator.inside = like.inside;
    made.generator.skew = like.skew;
    if (made.features.empty()) made.features = fmt::format("planted:{}", like.features);
    if (!made.split) made.split = like.split;
    return made;
}

}  // namespace rudder::graph
