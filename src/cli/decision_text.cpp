// What an agent decided, in a few words.
#include <cmath>

#include <fmt/format.h>

#include "core/json.hpp"

#include "live_frame.hpp"

namespace rudder::cli {

namespace {

std::string word(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string value_text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string action_text(const Json& action) {
    const std::string kind = word(action, "action");
    if (kind == "replace") {
        const Json fraction = action.value("fraction", Json(1.0));
        const bool all = !fraction.is_number() || fraction.get<double>() >= 1;
        return all ? "replace" : fmt::format("replace {:.0f} %", fraction.get<double>() * 100);
    }
    if (kind != "set") return kind;
    std::string text;
    const Json knobs = action.value("knobs", Json::object());
    for (const auto& [name, value] : knobs.items())
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value_text(value));
    return text;
}

/// Against what the other action would have cost, where that was measured.
std::string effect_text(const Json& line) {
    const Json outcome = line.value("outcome", Json());
    const Json others = line.value("alternatives", Json::array());
    if (!outcome.is_object()) return "effect not known yet";
    const Json rows = outcome.value("rows", Json());
    const Json instead =
        others.is_array() && !others.empty() ? others.front().value("rows", Json()) : Json();
    if (!rows.is_number() || !instead.is_number() || instead.get<double>() <= 0) {
        const Json hits = outcome.value("hit_rate", Json());
        return hits.is_number() ? fmt::format("hit rate {:.0f} % since", hits.get<double>() * 100)
                                : "";
    }
    const double more = rows.get<double>() / instead.get<double>() - 1;
    if (std::abs(more) < 0.0005) return "as many rows as otherwise";
    return fmt::format("{:.1f} % {} rows than otherwise", std::abs(more) * 100,
                       more > 0 ? "more" : "fewer");
}

}  // namespace

std::string decision_text(const std::string& line) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return {};
    const std::string action = action_text(json.value("action", Json::object()));
    if (action.empty()) return {};
    std::string text = fmt::format("{}: {}", word(json, "agent"), action);
    if (const std::string reason = word(json, "reason"); !reason.empty())
        text += fmt::format(" ({})", reason);
    if (const Json step = json.value("step", Json()); step.is_number_unsigned())
        text += fmt::format(" at step {}", step.get<std::uint64_t>());
    if (const std::string status = word(json, "status"); status != "applied") text += ", " + status;
    if (const std::string effect = effect_text(json); !effect.empty()) text += ": " + effect;
    return text;
}

}  // namespace rudder::cli
