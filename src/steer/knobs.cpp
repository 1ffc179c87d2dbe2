#include "rudder/steer/knobs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/field_parts.hpp"
#include "core/spec_registry.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "knob_range.hpp"

namespace rudder::steer {

namespace {

constexpr double any_u32 = 4294967295.0;

// clang-format off
constexpr std::array<Knob, knob_count> knobs{{
    {KnobId::policy, "policy", KnobKind::text, 0, 0, 0, false,
     "Which rows stay, which leave and which are fetched.",
     "the new policy keeps the rows that are there and starts without a memory of its own"},
    {KnobId::window, "window", KnobKind::whole, 1, 1000000, 16, false,
     "Steps that the policy looks ahead.",
     "memory for samples drawn ahead; a longer one has to be drawn first"},
    {KnobId::capacity, "capacity", KnobKind::whole, 0, any_u32, 0, false,
     "Rows that the buffer may hold, within the configured bytes.",
     "rows that no longer fit are fetched again"},
    {KnobId::decay, "decay", KnobKind::real, 0, 1, 0.99, false,
     "Factor by which the count of a use decays per step.", "nothing at once", true},
    {KnobId::fraction, "fraction", KnobKind::real, 0, 1, 1, false,
     "Share of the buffer that one replacement may change, at most.", "nothing at once"},
    {KnobId::distance, "distance", KnobKind::whole, 0, 1000, 2, true,
     "How many steps early rows are fetched, at most.", "nothing at once"},
    {KnobId::bulk, "bulk", KnobKind::whole, 0, any_u32, 0, true,
     "Rows per message, at most; 0: as many as take 256 KiB.", "nothing at once"},
    {KnobId::sample_threads, "sample_threads", KnobKind::whole, 1, 64, 1, true,
     "Threads that draw samples.", "cores that others would have used"},
    {KnobId::fetch_threads, "fetch_threads", KnobKind::whole, 1, 64, 1, true,
     "Threads that assemble and fetch.", "cores that others would have used"},
    {KnobId::demand_first, "demand_first", KnobKind::whole, 0, 1, 1, true,
     "Whether rows that a step waits for pass rows fetched ahead; 0: in the order asked for.",
     "nothing at once"},
    {KnobId::in_flight, "in_flight", KnobKind::whole, 1, 1024, 2, true,
     "Steps that are assembled at a time, the one being computed included.",
     "memory of their rows; with fewer, computing may wait"},
    {KnobId::buckets, "buckets", KnobKind::whole, 0, 6, 0, true,
     "Groups in which gradients are reduced while backward runs; 0: as the link allows.",
     "nothing at once; more groups are more messages"},
}};
// clang-format on

std::string shown(const KnobValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return fmt::format("'{}'", *text);
    return fmt::format("{}", std::get<double>(value));
}

void check_number(const Knob& k, const KnobValue& value, const KnobRange& range,
                  const std::string& where) {
    const auto* number = std::get_if<double>(&value);
    if (number != nullptr && range.holds(*number)) return;
    throw usage_error(fmt::format("invalid value for knob '{}': {}", k.name, shown(value)), where,
                      fmt::format("give {}", range.text()));
}

/// In place: moving a change whose kind of value is known makes GCC 12 warn of the other kind.
void add(std::vector<KnobChange>& changes, KnobId id, const KnobValue& value) {
    KnobChange& change = changes.emplace_back();
    change.id = id;
    change.value = value;
}

buffer::PolicySpec policy_of(const KnobValue& value, const std::string& where) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
        throw usage_error(fmt::format("invalid value for knob 'policy': {}", shown(value)), where,
                          "give a policy in quotes, such as \"window:16\"");
    }
    buffer::PolicySpec spec = buffer::PolicySpec::parse(*text, where);
    if (spec.name() == "optimal" || spec.given("listed")) {
        throw usage_error(
            fmt::format("policy '{}' needs a recorded trace and cannot be set while running",
                        spec.text()),
            where, "set a policy that knows no more than the run does, such as \"window:16\"");
    }
    return spec;
}

void set_policy(Setting& setting, const KnobValue& value, const KnobLimits& limits,
                const std::string& where) {
    buffer::PolicySpec spec = policy_of(value, where);
    if (spec.has("window")) {
        const Knob& window = knob(KnobId::window);
        check_number(window, spec.number("window"), KnobRange::of(window, limits), where);
    }
    setting.policy = std::move(spec);
}

void set_number(Setting& setting, const KnobChange& change, const KnobLimits& limits,
                const std::string& where) {
    const Knob& k = knob(change.id);
    check_number(k, change.value, KnobRange::of(k, limits), where);
    const double number = std::get<double>(change.value);
    if (std::uint64_t* value = member_named<std::uint64_t>(setting, k.name)) {
        *value = static_cast<std::uint64_t>(number);
    } else if (setting.policy.has(k.name)) {  // its parameters have the names of their knobs
        setting.policy.set(k.name, number, where);
    } else {
        throw usage_error(
            fmt::format("policy '{}' has no '{}' to set", setting.policy.name(), k.name), where,
            "set a policy that has it in the same action, or leave the knob out");
    }
}

}  // namespace

KnobRange KnobRange::of(const Knob& k) {
    return {k.kind == KnobKind::whole, k.minimum, k.maximum, k.above_minimum, {}};
}

KnobRange KnobRange::of(const Knob& k, const KnobLimits& limits) {
    KnobRange range = of(k);
    const auto narrow = [&range](std::uint64_t most) {
        range.maximum = std::min(range.maximum, static_cast<double>(most));
    };
    if (k.id == KnobId::window) narrow(limits.window);
    if (k.id == KnobId::capacity) narrow(limits.slots);
    if (k.id == KnobId::sample_threads) narrow(limits.sample_threads);
    if (k.id == KnobId::fetch_threads) narrow(limits.fetch_threads);
    if (k.id == KnobId::in_flight) narrow(limits.in_flight);
    if (k.id == KnobId::buckets) {
        narrow(limits.buckets);
        if (limits.buckets == 0) {
            range.why =
                ": all ranks divide gradients alike, so only an agent of the whole job may change "
                "that (--agent-scope job)";
        }
    }
    return range;
}

bool KnobRange::holds(double value) const noexcept {
    if (!std::isfinite(value) || (whole && value != std::floor(value))) return false;
    return (above_minimum ? value > minimum : value >= minimum) && value <= maximum;
}

std::string KnobRange::text() const {
    if (minimum == maximum) return fmt::format("{}, the only value here{}", minimum, why);
    return fmt::format("a {}number {} {} and up to {}{}", whole ? "whole " : "",
                       above_minimum ? "above" : "from", minimum, maximum, why);
}

std::span<const Knob, knob_count> all_knobs() noexcept {
    return knobs;
}

const Knob& knob(KnobId id) noexcept {
    return knobs[static_cast<std::size_t>(id)];
}

const Knob& knob(std::string_view name, const std::string& where) {
    std::vector<std::string_view> names;
    for (const Knob& k : knobs) {
        if (k.name == name) return k;
        names.push_back(k.name);
    }
    throw unknown_name("knob", name, names, where);
}

std::optional<KnobValue> knob_value(const Setting& setting, KnobId id) {
    if (id == KnobId::policy) return setting.policy.text();
    const std::string_view name = knob(id).name;
    if (const auto* value = member_named<std::uint64_t>(setting, name))
        return static_cast<double>(*value);
    if (!setting.policy.has(name)) return std::nullopt;
    return setting.policy.number(name);
}

void check_change(const KnobChange& change, const std::string& where) {
    const Knob& k = knob(change.id);
    if (k.kind == KnobKind::text) {
        static_cast<void>(policy_of(change.value, where));
    } else {
        check_number(k, change.value, KnobRange::of(k), where);
    }
}

Setting with_changes(Setting setting, std::span<const KnobChange> changes, const KnobLimits& limits,
                     const std::string& where) {
    for (const KnobChange& change : changes) {
        if (change.id == KnobId::policy) set_policy(setting, change.value, limits, where);
    }
    for (const KnobChange& change : changes) {
        if (change.id != KnobId::policy) set_number(setting, change, limits, where);
    }
    return setting;
}

std::vector<KnobChange> changes_between(const Setting& from, const Setting& to) {
    std::vector<KnobChange> changes;
    buffer::PolicySpec policy = from.policy;
    for (const Knob& k : knobs) {
        if (!of_policy(k.id) || policy.name() != to.policy.name() || !policy.has(k.name)) continue;
        const double wanted = to.policy.number(k.name);
        if (policy.number(k.name) == wanted && policy.given(k.name) == to.policy.given(k.name)) {
            continue;
        }
        policy.set(k.name, wanted);
        add(changes, k.id, wanted);
    }
    if (policy != to.policy) {
        changes.clear();
        add(changes, KnobId::policy, to.policy.text());
    }
    for (const Knob& k : knobs) {
        if (k.id == KnobId::policy || of_policy(k.id)) continue;
        const auto wanted = knob_value(to, k.id);
        if (knob_value(from, k.id) != wanted) add(changes, k.id, *wanted);
    }
    return changes;
}

std::string text_of(const Setting& setting) {
    std::string text =
        fmt::format("{}, capacity {}", setting.policy.text(), format_count(setting.capacity));
    for (const Knob& k : knobs) {
        const auto value = knob_value(setting, k.id);
        if (k.id < KnobId::bulk || std::get<double>(*value) == k.fallback) continue;
        text += fmt::format(", {}", text_of(std::array{KnobChange{k.id, *value}}));
    }
    return text;
}

std::string text_of(std::span<const KnobChange> changes) {
    std::string text;
    for (const KnobChange& change : changes) {
        const Knob& k = knob(change.id);
        if (!text.empty()) text += ", ";
        if (const auto* words = std::get_if<std::string>(&change.value)) {
            text += fmt::format("{} {}", k.name, *words);
        } else if (const double number = std::get<double>(change.value);
                   KnobRange::of(k).whole && KnobRange::of(k).holds(number)) {
            text += fmt::format("{} {}", k.name, format_count(static_cast<std::uint64_t>(number)));
        } else {
            text += fmt::format("{} {}", k.name, number);
        }
    }
    return text;
}

}  // namespace rudder::steer
