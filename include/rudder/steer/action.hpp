// What an agent may say: keep, replace, or set knobs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/fields.hpp"
#include "rudder/core/json_fwd.hpp"
#include "rudder/steer/knobs.hpp"

namespace rudder::steer {

enum class ActionKind : std::uint8_t { keep, replace, set };
[[nodiscard]] std::string_view to_string(ActionKind kind) noexcept;

/// Why; a closed list, so that logs can be counted and a model's words reach no one's terminal.
enum class Reason : std::uint8_t {
    none,       ///< not said
    rule,       ///< a fixed rule says so
    scheduled,  ///< a file says so
    replayed,   ///< an earlier run did so
    chance,     ///< drawn
    low_hit_rate,
    high_stall,
    rising_cost,
    good_enough,    ///< nothing better is known
    no_candidates,  ///< nothing worth bringing in
    ending,         ///< too few steps are left to pay it back
    trying,         ///< to learn what it does
    shadow_better,  ///< a shadow buffer fetched fewer rows
    timed_better,   ///< a stretch of the run was faster
    was_worse,      ///< takes an earlier change back
    phase_changed,  ///< what was learned holds no more
    leader,         ///< the member that cost least does so
    predicted,      ///< a classifier's answer
    model_choice,   ///< a language model's answer
};
/// All codes but `none`, in order.
[[nodiscard]] std::span<const std::string_view> reason_names() noexcept;
[[nodiscard]] std::string_view to_string(Reason reason) noexcept;  ///< empty for `none`

/// One action (design section 10).
struct Action {
    ActionKind kind = ActionKind::keep;
    double fraction = 1;              ///< with replace: of the buffer, at most
    std::vector<KnobChange> knobs{};  ///< with set
    Reason reason = Reason::none;

    [[nodiscard]] static Action keep(Reason why = Reason::none) { return {.reason = why}; }
    [[nodiscard]] static Action replace(Reason why, double fraction = 1) {
        return {ActionKind::replace, fraction, {}, why};
    }
    [[nodiscard]] static Action set(std::vector<KnobChange> knobs, Reason why) {
        return {ActionKind::set, 1, std::move(knobs), why};
    }
    friend bool operator==(const Action&, const Action&) = default;

    static constexpr auto fields =
        unnamed_fields(&Action::kind, &Action::fraction, &Action::knobs, &Action::reason);
};
static_assert(lists_all_fields<Action>);

[[nodiscard]] Json to_json(const Action& action);
/// Reads an action; a usage Error naming `where` says what is wrong with it: unknown keys, knobs,
/// reasons, values of another kind or out of the knob's own range.
[[nodiscard]] Action parse_action(const Json& object, const std::string& where);
/// The JSON schema (2020-12) of an action, closed: enums, bounded numbers, no further keys. Knobs
/// outside `allowed` are left out; limits narrow the ranges.
[[nodiscard]] Json action_schema(std::span<const KnobId> allowed, const KnobLimits& limits);

}  // namespace rudder::steer
