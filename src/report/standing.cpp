#include "standing.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/fields_json.hpp"
#include "core/step_time.hpp"

namespace rudder::report {

namespace {

std::string words_of(const steer::Action& action) {
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
std::optional<double> fewer_rows(const steer::DecisionRecord& record) {
    if (!record.outcome || !record.alternative || record.outcome->alternative <= 0)
        return std::nullopt;
    return 1 - record.outcome->rows / record.outcome->alternative;
}

std::string effect_words(const steer::DecisionRecord& record) {
    if (!record.outcome) return "effect not known yet";
    const auto fewer = fewer_rows(record);
    if (!fewer) return fmt::format("hit rate {:.0f} % since", record.outcome->hit_rate * 100);
    if (std::abs(*fewer) < 0.0005) return "as many rows as otherwise";
    return fmt::format("{:.1f} % {} rows than otherwise", std::abs(*fewer) * 100,
                       *fewer < 0 ? "more" : "fewer");
}

void without_strange_numbers(Json& json) {
    if (json.is_number_float() && !std::isfinite(json.get<double>())) json = nullptr;
    if (!json.is_structured()) return;
    for (auto& one : json)
        without_strange_numbers(one);
}

}  // namespace

Seconds RankPace::parts() const noexcept {
    Seconds seconds;
    seconds.step = step_seconds;
    seconds.compute = compute_seconds;
    seconds.stall = stall_seconds;
    seconds.wait_rows = wait_rows_seconds;
    seconds.wait_gradients = wait_gradients_seconds;
    seconds.wait_ranks = wait_ranks_seconds;
    seconds.wait_agent = wait_agent_seconds;
    seconds.rest = rest_seconds;
    return with_all_parts(seconds);
}

Json to_json(const Standing& standing) {
    Standing known = standing;
    std::erase_if(known.losses, [](double loss) { return !std::isfinite(loss); });
    Json json = fields_json(known);
    without_strange_numbers(json);
    return json;
}

Standing standing_from_json(const Json& json, const std::string& where) {
    if (!json.is_object())
        throw input_error("invalid status: not a JSON object", where, "give the address of a run");
    try {
        return fields_from_json<Standing>(json, where);
    } catch (const Json::exception& error) {
        throw input_error(fmt::format("invalid status: {}", error.what()), where,
                          "give the address of a run");
    }
}

bool was_applied(const steer::DecisionRecord& record) noexcept {
    return record.status == steer::DecisionStatus::applied &&
           record.action.kind != steer::ActionKind::keep;
}

AppliedDecision in_words(const steer::DecisionRecord& record) {
    AppliedDecision decision;
    decision.step = record.step;
    decision.rank = record.rank;
    decision.agent = record.agent;
    decision.action = words_of(record.action);
    if (record.action.reason != steer::Reason::none)
        decision.reason = std::string(to_string(record.action.reason));
    decision.effect = effect_words(record);
    decision.fewer_rows = fewer_rows(record);
    return decision;
}

std::string decision_text(const AppliedDecision& decision) {
    std::string text = fmt::format("{}: {}", decision.agent, decision.action);
    if (!decision.reason.empty()) text += fmt::format(" ({})", decision.reason);
    return text + fmt::format(" at step {}: {}", decision.step, decision.effect);
}

}  // namespace rudder::report
