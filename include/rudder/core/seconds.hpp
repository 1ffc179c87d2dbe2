// Seconds of a step, a stretch or a run, by what they went to.
#pragma once

#include "rudder/core/fields.hpp"

namespace rudder {

/// Only `step`, `stall`, `compute`, `reduce` and `rest` are on the path of the step; sampling and
/// fetching happen in the background. The waits are `stall` and `reduce` once more, divided by what
/// they were for: a rank that is late since it lacks rows makes all others wait for those. So
/// step = compute + wait_rows + wait_gradients + wait_ranks + wait_agent + rest. All are 0 in
/// replays.
struct Seconds {
    std::uint64_t steps = 0;    ///< that were timed, where they are counted
    double step = 0;            ///< from one step's end to the next's
    double sample = 0;          ///< drawing its blocks
    double fetch = 0;           ///< from the first request to the last row in place
    double stall = 0;           ///< waiting for its rows with nothing else to do
    double compute = 0;         ///< forward, backward, update
    double reduce = 0;          ///< waiting for gradients after the backward pass
    double wait_rows = 0;       ///< waiting for rows: its own, or those of the slowest rank
    double wait_gradients = 0;  ///< waiting for gradients that are on their way
    double wait_ranks = 0;      ///< waiting for ranks that compute longer
    double wait_agent = 0;      ///< waiting for an agent's answer, which rows then wait for
    double rest = 0;            ///< all other time: records, checkpoints begun, between steps

    static constexpr auto fields = field_list(
        field("steps", &Seconds::steps),
        field("step", &Seconds::step, FieldKind::seconds, "From one step's end to the next's"),
        field("sample", &Seconds::sample, FieldKind::seconds,
              "Drawing the step's blocks, in the background"),
        field("fetch", &Seconds::fetch, FieldKind::seconds,
              "From the first request to the last row in place, in the background"),
        field("stall", &Seconds::stall, FieldKind::seconds,
              "Waiting for rows with nothing else to do"),
        field("compute", &Seconds::compute, FieldKind::seconds, "Forward, backward and update"),
        field("reduce", &Seconds::reduce, FieldKind::seconds,
              "Waiting for gradients after the backward pass"),
        added_field("wait_rows", &Seconds::wait_rows, FieldKind::seconds,
                    "Waiting for rows, those of the slowest rank included"),
        added_field("wait_gradients", &Seconds::wait_gradients, FieldKind::seconds,
                    "Waiting for gradients on their way"),
        added_field("wait_ranks", &Seconds::wait_ranks, FieldKind::seconds,
                    "Waiting for ranks that compute longer"),
        added_field("wait_agent", &Seconds::wait_agent, FieldKind::seconds,
                    "Waiting for an agent's answer, that of the slowest rank included"),
        added_field("rest", &Seconds::rest, FieldKind::seconds, "All other time of the step"));

    /// Of the rank itself, whomever it waits for at the gradients.
    [[nodiscard]] double own() const noexcept { return stall + compute; }

    Seconds& operator+=(const Seconds& other) noexcept { return add_fields(*this, other); }
    friend Seconds operator-(const Seconds& a, const Seconds& b) noexcept {
        return minus_fields(a, b);
    }
    friend bool operator==(const Seconds&, const Seconds&) = default;
};
static_assert(lists_all_fields<Seconds>);

}  // namespace rudder
