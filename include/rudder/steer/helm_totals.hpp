// What steering came to, in numbers.
#pragma once

#include <cstdint>
#include <string>

#include "rudder/core/fields.hpp"

namespace rudder::steer {

/// What steering came to.
struct HelmTotals {
    std::string agent;
    std::uint64_t decisions = 0;  ///< answers and failures, all of them
    std::uint64_t applied = 0;    ///< replace and set
    std::uint64_t kept = 0;
    std::uint64_t late = 0;  ///< stale ones included
    std::uint64_t invalid = 0;
    std::uint64_t refused = 0;
    std::uint64_t undone = 0;
    std::uint64_t breaker_openings = 0;
    std::uint64_t judged = 0;
    std::uint64_t correct = 0;   ///< of the judged
    double mailbox_seconds = 0;  ///< of training in calls of the mailbox
    double waited_seconds = 0;   ///< sync
    double cpu_seconds = 0;      ///< of shadows, observations and the agent
    double twin_rows = 0;        ///< fetched by the twin, and by the built-in rule beside it
    double built_in_rows = 0;

    HelmTotals& operator+=(const HelmTotals& other);

    static constexpr auto fields = unnamed_fields(
        &HelmTotals::agent, &HelmTotals::decisions, &HelmTotals::applied, &HelmTotals::kept,
        &HelmTotals::late, &HelmTotals::invalid, &HelmTotals::refused, &HelmTotals::undone,
        &HelmTotals::breaker_openings, &HelmTotals::judged, &HelmTotals::correct,
        &HelmTotals::mailbox_seconds, &HelmTotals::waited_seconds, &HelmTotals::cpu_seconds,
        &HelmTotals::twin_rows, &HelmTotals::built_in_rows);
};
static_assert(lists_all_fields<HelmTotals>);

}  // namespace rudder::steer
