// What an agent decided, in a few words.
#include <cmath>

#include <fmt/format.h>

#include "steer/log/decision_log.hpp"

#include "live_frame.hpp"

namespace rudder::cli {

namespace {

std::string action_text(const steer::Action& action) {
    if (action.kind == steer::ActionKind::replace && action.fraction < 1)
        return fmt::format("replace {:.0f} %", action.fraction * 100);
    if (action.kind != steer::ActionKind::set) return std::string(to_string(action.kind));
    std::string text;
    for (const steer::KnobChange& change : action.knobs) {
        const std::string value =
            std::visit([](const auto& v) { return fmt::format("{}", v); }, change.value);
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", knob(change.id).name, value);
    }
    return text;
}

/// Against what the other action would have cost, where that was measured.
std::string effect_text(const steer::DecisionRecord& record) {
    if (!record.outcome) return "effect not known yet";
    const steer::Outcome& outcome = *record.outcome;
    if (!record.alternative || outcome.alternative <= 0)
        return fmt::format("hit rate {:.0f} % since", outcome.hit_rate * 100);
    const double more = outcome.rows / outcome.alternative - 1;
    if (std::abs(more) < 0.0005) return "as many rows as otherwise";
    return fmt::format("{:.1f} % {} rows than otherwise", std::abs(more) * 100,
                       more > 0 ? "more" : "fewer");
}

}  // namespace

std::string decision_text(const steer::DecisionRecord& record) {
    std::string text = fmt::format("{}: {}", record.agent, action_text(record.action));
    if (record.action.reason != steer::Reason::none)
        text += fmt::format(" ({})", to_string(record.action.reason));
    text += fmt::format(" at step {}", record.step);
    if (record.status != steer::DecisionStatus::applied)
        text += fmt::format(", {}", to_string(record.status));
    return text + ": " + effect_text(record);
}

}  // namespace rudder::cli
