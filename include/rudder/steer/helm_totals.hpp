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
    std::uint64_t correct = 0;    ///< of the judged: no worse than the alternative
    std::uint64_t no_effect = 0;  ///< of the correct: as many rows as the alternative
    double mailbox_seconds = 0;   ///< of training in calls of the mailbox
    double waited_seconds = 0;    ///< sync
    double cpu_seconds = 0;       ///< of shadows, observations and the agent
    double twin_rows = 0;         ///< fetched by the twin, and by the built-in rule beside it
    double built_in_rows = 0;

    HelmTotals& operator+=(const HelmTotals& other);
    /// What `correct` is a share of: an answer that came to nothing is not a correct one.
    [[nodiscard]] std::uint64_t answered() const noexcept {
        return judged + late + invalid + refused;
    }
    /// What had an effect, or failed to; and how much of it was better than the alternative.
    [[nodiscard]] std::uint64_t effective() const noexcept { return answered() - no_effect; }
    [[nodiscard]] std::uint64_t better() const noexcept { return correct - no_effect; }

    static constexpr auto fields =
        field_list(field("agent", &HelmTotals::agent, FieldKind::plain),
                   field("decisions", &HelmTotals::decisions, FieldKind::plain),
                   field("applied", &HelmTotals::applied, FieldKind::plain),
                   field("kept", &HelmTotals::kept, FieldKind::plain),
                   field("late", &HelmTotals::late, FieldKind::plain),
                   field("invalid", &HelmTotals::invalid, FieldKind::plain),
                   field("refused", &HelmTotals::refused, FieldKind::plain),
                   field("undone", &HelmTotals::undone, FieldKind::plain),
                   field("breaker_openings", &HelmTotals::breaker_openings, FieldKind::plain),
                   field("judged", &HelmTotals::judged, FieldKind::plain),
                   field("correct", &HelmTotals::correct, FieldKind::plain),
                   added_field("no_effect", &HelmTotals::no_effect, FieldKind::plain, ""),
                   field("mailbox_seconds", &HelmTotals::mailbox_seconds, FieldKind::plain),
                   field("waited_seconds", &HelmTotals::waited_seconds, FieldKind::plain),
                   field("cpu_seconds", &HelmTotals::cpu_seconds, FieldKind::plain),
                   field("twin_rows", &HelmTotals::twin_rows, FieldKind::plain),
                   field("built_in_rows", &HelmTotals::built_in_rows, FieldKind::plain));
};
static_assert(lists_all_fields<HelmTotals>);

/// Rows over those of the best of the declared class in hindsight, less 1 (docs/agents.md).
struct Regret {
    std::string best;  ///< its name
    double value = 0;
    double error = 0;         ///< standard error of the value; 0: it is exact
    std::uint64_t steps = 0;  ///< that it is of
};

}  // namespace rudder::steer
