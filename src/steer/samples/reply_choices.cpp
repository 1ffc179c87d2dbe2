#include "reply_choices.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"
#include "steer/llm/reply.hpp"

namespace rudder::steer {

namespace {

constexpr std::array replaced_shares{0.1, 0.25, 0.5, 1.0};
constexpr std::array tried_windows{4.0, 8.0, 16.0, 32.0, 64.0};
constexpr std::array tried_decays{0.5, 0.9, 0.99, 0.999, 1.0};
constexpr std::array tried_fractions{0.1, 0.25, 0.5, 1.0};
constexpr std::array tried_distances{0.0, 1.0, 2.0, 4.0, 8.0};
constexpr std::array tried_bulks{0.0, 256.0, 1024.0, 4096.0};
constexpr std::array tried_groups{0.0, 1.0, 2.0, 4.0, 6.0};
constexpr std::array either{0.0, 1.0};
constexpr std::uint64_t questions_alike = 16;  ///< with one probability to change anything

void add_steps(std::vector<double>& values, std::span<const double> steps) {
    values.insert(values.end(), steps.begin(), steps.end());
}

/// Numbers to try of a knob that is set to `now`.
std::vector<double> tried_values(const Observation& seen, KnobId id, double now,
                                 std::uint64_t longest_window) {
    const auto longest = static_cast<double>(longest_window);
    const auto slots = static_cast<double>(seen.limits.slots);
    std::vector<double> values;
    switch (id) {
        case KnobId::window:
            values = {std::max(1.0, std::floor(now / 2)), 2 * now};
            add_steps(values, tried_windows);
            std::erase_if(values, [longest](double window) { return window > longest; });
            break;
        case KnobId::capacity:
            // All of it, too: steered by halves and doubles alone, most buffers would be tiny.
            values = {std::max(1.0, std::floor(now / 2)), std::min(2 * now, slots), slots};
            break;
        case KnobId::decay:
            add_steps(values, tried_decays);
            break;
        case KnobId::fraction:
            add_steps(values, tried_fractions);
            break;
        case KnobId::distance:
            add_steps(values, tried_distances);
            break;
        case KnobId::bulk:
            add_steps(values, tried_bulks);
            break;
        case KnobId::demand_first:
            add_steps(values, either);
            break;
        case KnobId::buckets:
            add_steps(values, tried_groups);
            break;
        default:  // threads, and steps in flight
            values = {std::max(1.0, std::floor(now / 2)), 2 * now};
    }
    return values;
}

/// Acts on no id, so that all it may change is time.
bool on_time_alone(KnobId id) {
    return id >= KnobId::bulk;
}

std::uint64_t window_of(const std::string& policy) {
    return buffer::horizon_of(buffer::PolicySpec::parse(policy));
}

/// Those of one knob, whatever the schema says of them.
std::vector<KnobValue> values_of(const Observation& seen, const Knob& k,
                                 const buffer::PolicySpec& built_in, std::uint64_t longest_window) {
    std::vector<KnobValue> values;
    const auto now = knob_value(seen.setting, k.id);
    if (!now || (on_time_alone(k.id) && seen.cost != CostKind::seconds)) return values;
    if (k.kind == KnobKind::text) {
        for (const std::string& policy : policy_choices(seen, built_in))
            if (window_of(policy) <= longest_window) values.emplace_back(policy);
        return values;
    }
    // A distance that is said may be longer than the same one by default.
    const bool again = k.id == KnobId::distance;
    for (const double number : tried_values(seen, k.id, std::get<double>(*now), longest_window)) {
        const bool known = std::ranges::find(values, KnobValue(number)) != values.end();
        if (!known && (again || *now != KnobValue(number))) values.emplace_back(number);
    }
    return values;
}

constexpr std::size_t replacing = knob_count;

/// Its knob, or that it replaces.
std::size_t kind_of_choice(const Action& action) {
    return action.kind == ActionKind::set ? static_cast<std::size_t>(action.knobs.front().id)
                                          : replacing;
}

}  // namespace

std::vector<Action> reply_choices(const Observation& observation,
                                  const buffer::PolicySpec& built_in, const Json& schema,
                                  std::uint64_t longest_window) {
    std::vector<Action> choices{Action::keep()};
    const auto offer = [&](Action action) {
        if (can_change(action, observation, schema)) choices.push_back(std::move(action));
    };
    for (const double share : replaced_shares)
        offer(Action::replace(Reason::none, share));
    for (const Knob& k : all_knobs()) {
        for (const KnobValue& value : values_of(observation, k, built_in, longest_window))
            offer(Action::set({{k.id, value}}, Reason::none));
    }
    return choices;
}

std::size_t chosen_by_chance(const std::vector<Action>& choices, const ChanceKey& key) {
    constexpr std::array probabilities{0.1, 0.25, 0.5, 0.8};
    const RandomStream stream({.purpose = Purpose::steer, .seed = key.seed, .layer = 2});
    Draws of_stretch(stream, (key.host << 32) + key.question / questions_alike);
    const double changes = probabilities[of_stretch.below(probabilities.size())];
    Draws draws(stream, (std::uint64_t{1} << 63) + (key.host << 40) + key.step);
    if (draws.uniform() >= changes || choices.size() == 1) return 0;
    std::vector<std::size_t> knobs;
    bool told = false;
    for (const Action& action : std::span(choices).subspan(1)) {
        const std::size_t kind = kind_of_choice(action);
        told = told || kind == replacing;
        if (kind != replacing && std::ranges::find(knobs, kind) == knobs.end())
            knobs.push_back(kind);
    }
    // More often than not: a policy that waits to be told is seldom come back to.
    const bool replaces = knobs.empty() || (told && draws.below(4) != 0);
    const std::size_t kind = replaces ? replacing : knobs[draws.below(knobs.size())];
    std::vector<std::size_t> alike;
    for (std::size_t i = 1; i < choices.size(); ++i)
        if (kind_of_choice(choices[i]) == kind) alike.push_back(i);
    return alike[draws.below(alike.size())];
}

}  // namespace rudder::steer
