// Arrows of a profile: from what fetched rows to the batch that used them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/profile.hpp"

namespace rudder::report {

/// A moment on a row of the profile.
struct FlowEnd {
    std::size_t thread;
    std::uint64_t time;
};

struct Flow {
    std::string_view name;
    FlowEnd from;
    FlowEnd to;  ///< not before `from`
};

/// The arrows of one rank: from sampling a step to fetching its rows, from there to computing it,
/// and from rows fetched ahead to each step that was the first to use some of them. An arrow whose
/// other end was not recorded is none.
[[nodiscard]] std::vector<Flow> flows_of(const RankProfile& rank);

}  // namespace rudder::report
