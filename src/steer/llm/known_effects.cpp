#include "known_effects.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/json.hpp"

#include "reply.hpp"

namespace rudder::steer {

namespace {

constexpr double largest_percent = 99.9;

double fetched_per_step(const Rows& rows) {
    return rows.steps == 0 ? 0
                           : static_cast<double>(rows.fetched()) / static_cast<double>(rows.steps);
}

/// Gathers effects; what is told later of an action holds.
class EffectList {
public:
    explicit EffectList(const Observation& seen)
        : seen_(seen), schema_(reply_schema(seen, seen.built_in.setting.policy)) {}

    void tell(Action action, double rows, double base) {
        action.reason = Reason::none;
        if (!can_change(action, seen_, schema_)) return;
        std::erase_if(known_, [&](const KnownEffect& one) { return one.action == action; });
        known_.push_back({std::move(action), rows, base});
    }
    void tell(const PastDecision& past) {
        if (past.status != "applied") return;
        if (past.action.kind == ActionKind::replace)
            tell(past.action, past.rows_after, past.rows_before);
        if (past.action.kind == ActionKind::set)
            tell(past.action, past.rows_after, fetched_per_step(seen_.rows));
    }
    void tell(const ShadowReading& shadow) {
        if (shadow.setting.policy == seen_.setting.policy) return;
        tell(Action::set({{KnobId::policy, shadow.setting.policy.text()}}, Reason::none),
             fetched_per_step(shadow.rows), fetched_per_step(seen_.twin.rows));
    }
    [[nodiscard]] std::vector<KnownEffect> take() { return std::move(known_); }

private:
    const Observation& seen_;
    Json schema_;
    std::vector<KnownEffect> known_;
};

/// Of one that has run in its setting before: at first it fetches what it lacks.
bool settled(const ShadowReading& shadow, const Observation& seen) {
    return shadow.age > shadow.rows.steps && shadow.setting.capacity == seen.setting.capacity;
}

/// Whether it would wait for decisions that nobody takes for a shadow.
bool waits_for_decisions(const buffer::PolicySpec& policy) {
    return policy.info().takes_decisions && !buffer::has_own_signal(policy);
}

}  // namespace

std::vector<KnownEffect> known_effects(const Observation& seen, bool history) {
    EffectList list(seen);
    if (history) {
        for (const PastDecision& past : seen.history)
            list.tell(past);
    }
    for (const ShadowReading& shadow : seen.shadows)
        if (settled(shadow, seen)) list.tell(shadow);
    list.tell(seen.built_in);
    return list.take();
}

std::string percent_text(double rows, double base) {
    const double none = rows > 0 ? 1 : 0;
    const double share = base > 0 ? rows / base - 1 : none;
    return fmt::format("{:+05.1f} %", std::clamp(100 * share, -largest_percent, largest_percent));
}

std::string shortest_reply(const Action& action) {
    if (action.kind == ActionKind::keep) return R"({"action":"keep"})";
    if (action.kind == ActionKind::replace)
        return fmt::format(R"({{"action":"replace","fraction":{}}})", action.fraction);
    std::string knobs;
    for (const KnobChange& change : action.knobs) {
        const auto* words = std::get_if<std::string>(&change.value);
        knobs += fmt::format(R"({}"{}":{})", knobs.empty() ? "" : ",", knob(change.id).name,
                             words != nullptr ? Json(*words).dump()
                                              : fmt::to_string(std::get<double>(change.value)));
    }
    return fmt::format(R"({{"action":"set","knobs":{{{}}}}})", knobs);
}

std::string effects_text(const Observation& seen, bool history) {
    std::string text;
    for (const KnownEffect& known : known_effects(seen, history)) {
        text += fmt::format("{} {}\n", percent_text(known.rows, known.base),
                            shortest_reply(known.action));
    }
    return text.empty() ? text : "Known effects on rows per step:\n" + text;
}

std::vector<ShadowOrder> policies_beside(const Observation& seen,
                                         const buffer::PolicySpec& built_in, std::size_t most) {
    std::vector<ShadowOrder> orders;
    for (const std::string& policy : policy_choices(seen, built_in)) {
        const buffer::PolicySpec spec = buffer::PolicySpec::parse(policy);
        if (spec == seen.setting.policy || spec == built_in || waits_for_decisions(spec)) continue;
        if (most-- == 0) break;
        const std::array change{KnobChange{KnobId::policy, policy}};
        Setting setting = with_changes(seen.setting, change, seen.limits, "a shadow");
        const auto known = std::ranges::find(seen.shadows, policy, &ShadowReading::name);
        if (known == seen.shadows.end()) {
            orders.push_back({ShadowOrder::Kind::copy, policy, std::move(setting)});
        } else if (known->setting.capacity != setting.capacity) {
            orders.push_back({ShadowOrder::Kind::set, policy, std::move(setting)});
        }
    }
    return orders;
}

}  // namespace rudder::steer
