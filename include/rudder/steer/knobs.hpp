// Knobs: what may change while a run goes on without changing its results.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rudder/buffer/knobs.hpp"
#include "rudder/core/fields.hpp"
#include "rudder/core/json_fwd.hpp"

namespace rudder::steer {

enum class KnobId : std::uint8_t {
    policy,
    window,
    capacity,
    decay,
    fraction,
    distance,
    bulk,
    sample_threads,
    fetch_threads,
    demand_first,
    in_flight,
    buckets
};
inline constexpr std::size_t knob_count = 12;

enum class KnobKind : std::uint8_t { text, whole, real };

/// One knob, as it is registered.
struct Knob {
    KnobId id;
    std::string_view name;
    KnobKind kind;
    double minimum;  ///< of numbers; what a run allows may be narrower
    double maximum;
    double fallback;             ///< where nothing is said
    bool on_time;                ///< acts on time, not on ids: judged by stretches of the real run
    std::string_view sentence;   ///< what it sets
    std::string_view cost;       ///< what a change costs
    bool above_minimum = false;  ///< the minimum itself is out of range
};

/// All knobs, in the order of their ids.
[[nodiscard]] std::span<const Knob, knob_count> all_knobs() noexcept;
[[nodiscard]] const Knob& knob(KnobId id) noexcept;
/// The knob of that name; a usage Error that lists the known ones otherwise.
[[nodiscard]] const Knob& knob(std::string_view name, const std::string& where);

/// The value of a knob: the text of a policy, or a number.
using KnobValue = std::variant<std::string, double>;

struct KnobChange {
    KnobId id;
    KnobValue value;
    friend bool operator==(const KnobChange&, const KnobChange&) = default;

    static constexpr auto fields = unnamed_fields(&KnobChange::id, &KnobChange::value);
};
static_assert(lists_all_fields<KnobChange>);

using Setting = buffer::Knobs;

/// What a run allows, by knob, within the knobs' own ranges.
struct KnobLimits {
    std::uint64_t slots = 0;      ///< most rows the capacity may be
    std::uint64_t window = 1024;  ///< most steps that memory allows to look ahead
    std::uint64_t sample_threads = 1;
    std::uint64_t fetch_threads = 1;
    std::uint64_t in_flight = 2;
    std::uint64_t buckets = 0;  ///< 0: orders do not reach all ranks at the same step

    static constexpr auto fields =
        unnamed_fields(&KnobLimits::slots, &KnobLimits::window, &KnobLimits::sample_threads,
                       &KnobLimits::fetch_threads, &KnobLimits::in_flight, &KnobLimits::buckets);
};
static_assert(lists_all_fields<KnobLimits>);

/// The value of a knob; none where the policy has no such parameter.
[[nodiscard]] std::optional<KnobValue> knob_value(const Setting& setting, KnobId id);
/// Checks a value against the knob's own range; a usage Error otherwise. Policies that need a
/// recorded trace (`optimal`, `listed`) are refused.
void check_change(const KnobChange& change, const std::string& where);
/// The setting after the changes: a policy first, then the others in order. A usage Error names the
/// knob, the value and its range where a value is out of range, of the wrong kind, or the policy
/// has no such parameter.
[[nodiscard]] Setting with_changes(Setting setting, std::span<const KnobChange> changes,
                                   const KnobLimits& limits, const std::string& where);
/// What would have to change to get from one to the other.
[[nodiscard]] std::vector<KnobChange> changes_between(const Setting& from, const Setting& to);
/// "window:16, capacity 1,200", for people.
[[nodiscard]] std::string text_of(const Setting& setting);
[[nodiscard]] std::string text_of(std::span<const KnobChange> changes);

/// {"policy": "window:16", "window": 16, "capacity": 1200, ...}: knobs the setting has.
[[nodiscard]] Json to_json(const Setting& setting);
/// Reads what to_json(Setting) wrote; an Error naming `where` otherwise.
[[nodiscard]] Setting parse_setting(const Json& object, const std::string& where);
/// {NAME: VALUE, ...}.
[[nodiscard]] Json to_json(std::span<const KnobChange> changes);
/// Reads such an object; a usage Error naming `where` for unknown knobs, values of another kind or
/// out of the knob's own range.
[[nodiscard]] std::vector<KnobChange> knob_changes(const Json& object, const std::string& where);
/// Knobs with their names, kinds, ranges and costs, as `agent list --json` prints them.
[[nodiscard]] Json knobs_json();

}  // namespace rudder::steer
