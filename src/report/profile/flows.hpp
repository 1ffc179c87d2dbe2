// Phases of a profile, and arrows from what fetched rows to the batch that used them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.hpp"

namespace rudder::report {

/// The name and the category of an event.
struct PhaseName {
    std::string name;
    std::string_view category;
    std::string_view part;  ///< of a step, in the words of every view; empty: of none
};

/// Those of a span or a wait of that text.
[[nodiscard]] PhaseName phase_name(std::string_view text, ProfileEvent::Kind kind);

/// Where rows of a category stand, from the top.
[[nodiscard]] int category_order(std::string_view category);

// Categories that flows look for.
inline constexpr std::string_view sample_category = "sample";
inline constexpr std::string_view fetch_category = "fetch";
inline constexpr std::string_view compute_category = "compute";

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
