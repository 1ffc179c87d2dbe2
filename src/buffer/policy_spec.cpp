#include "rudder/buffer/policy_spec.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "buffer/policies/policies.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::buffer {

namespace {

constexpr std::string_view number_text(ParameterKind kind) {
    return kind == ParameterKind::whole ? "a whole number" : "a number";
}

std::string range_text(const PolicyParameter& p) {
    return fmt::format("{} {} {} and {} {}", number_text(p.kind),
                       p.above_minimum ? "above" : "from", p.minimum,
                       p.below_maximum ? "below" : "up to", p.maximum);
}

/// "every (a whole number from 1 and up to 4294967295)".
std::string known_keys(const PolicyInfo& info) {
    if (info.parameters.empty()) return fmt::format("'{}' has no parameters", info.name);
    std::string text = fmt::format("'{}' knows ", info.name);
    for (std::size_t i = 0; i < info.parameters.size(); ++i) {
        const PolicyParameter& p = info.parameters[i];
        if (i != 0) text += ", ";
        text += p.kind == ParameterKind::flag ? std::string(p.name)
                                              : fmt::format("{} ({})", p.name, range_text(p));
    }
    return text;
}

void check_range(const PolicyInfo& info, const PolicyParameter& p, double value,
                 const std::string& where) {
    const bool whole = p.kind == ParameterKind::real || value == std::floor(value);
    const bool low = p.above_minimum ? value > p.minimum : value >= p.minimum;
    const bool high = p.below_maximum ? value < p.maximum : value <= p.maximum;
    if (whole && low && high) return;
    throw usage_error(
        fmt::format("{} is no value for '{}' of policy '{}'", value, p.name, info.name), where,
        fmt::format("give {}", range_text(p)));
}

double parse_value(const PolicyInfo& info, const PolicyParameter& p, std::string_view text,
                   const std::string& where) {
    const auto value = parse_double(text);
    if (!value) {
        throw usage_error(
            fmt::format("'{}' is no value for '{}' of policy '{}'", text, p.name, info.name), where,
            fmt::format("give {}", range_text(p)));
    }
    return *value;
}

}  // namespace

const PolicyInfo& policy_info(std::string_view name, const std::string& where) {
    std::vector<std::string_view> names;
    for (const PolicyInfo* info : all_policies()) {
        if (info->name == name) return *info;
        names.push_back(info->name);
    }
    const auto meant = nearest(name, names);
    throw usage_error(
        fmt::format("unknown policy '{}'", name), where,
        fmt::format("{}use one of {}", meant ? fmt::format("did you mean '{}'? ", *meant) : "",
                    join(names, ", ")));
}

PolicySpec::PolicySpec(const PolicyInfo& info) : info_(&info), values_(info.parameters.size()) {}

PolicySpec PolicySpec::parse(std::string_view text, const std::string& where) {
    const auto words = split(text, ',');
    const auto colon = words[0].find(':');
    const PolicyInfo& info = policy_info(words[0].substr(0, colon), where);
    PolicySpec spec(info);
    if (colon != std::string_view::npos) {
        if (!info.has_value) {
            throw usage_error(fmt::format("policy '{}' takes no value of its own", info.name),
                              where, known_keys(info));
        }
        const PolicyParameter& p = info.parameters[0];
        spec.set(p.name, parse_value(info, p, words[0].substr(colon + 1), where), where);
    }
    std::vector<bool> seen(info.parameters.size());
    if (colon != std::string_view::npos) seen[0] = true;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const auto split_at = words[i].find(':');
        const auto key = words[i].substr(0, split_at);
        const std::size_t at = spec.required(key, where);
        const PolicyParameter& p = info.parameters[at];
        if (seen[at]) {
            throw usage_error(fmt::format("'{}' is given twice in '{}'", key, text), where,
                              "give it once");
        }
        seen[at] = true;
        const bool has_text = split_at != std::string_view::npos;
        if (has_text == (p.kind == ParameterKind::flag)) {
            throw usage_error(fmt::format("'{}' of policy '{}' {} value", key, info.name,
                                          has_text ? "takes no" : "needs a"),
                              where, known_keys(info));
        }
        spec.set(p.name, has_text ? parse_value(info, p, words[i].substr(split_at + 1), where) : 1,
                 where);
    }
    if (spec.has("listed") && spec.given("listed") && spec.given("every")) {
        throw usage_error(fmt::format("'{}' has two signals, every and listed", text), where,
                          "give one of them");
    }
    return spec;
}

std::size_t PolicySpec::index(std::string_view parameter) const noexcept {
    const auto all = info_->parameters;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& p) { return p.name == parameter; });
    return static_cast<std::size_t>(found - all.begin());
}

std::size_t PolicySpec::required(std::string_view parameter, const std::string& where) const {
    const std::size_t at = index(parameter);
    if (at != values_.size()) return at;
    std::vector<std::string_view> names;
    for (const PolicyParameter& p : info_->parameters)
        names.push_back(p.name);
    const auto meant = nearest(parameter, names);
    throw usage_error(
        fmt::format("policy '{}' has no parameter '{}'", name(), parameter), where,
        (meant ? fmt::format("did you mean '{}'? ", *meant) : "") + known_keys(*info_));
}

bool PolicySpec::has(std::string_view parameter) const noexcept {
    return index(parameter) != values_.size();
}

bool PolicySpec::given(std::string_view parameter) const {
    return has(parameter) && values_[index(parameter)].has_value();
}

double PolicySpec::get(std::string_view parameter) const {
    const std::size_t at = index(parameter);
    RUDDER_CHECK(at < values_.size());
    return values_[at].value_or(info_->parameters[at].fallback);
}

void PolicySpec::set(std::string_view parameter, double value, const std::string& where) {
    const std::size_t at = required(parameter, where);
    check_range(*info_, info_->parameters[at], value, where);
    values_[at] = value;
}

std::string PolicySpec::text() const {
    std::string text(name());
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const PolicyParameter& p = info_->parameters[i];
        if (i == 0 && info_->has_value) {
            text += fmt::format(":{}", values_[i].value_or(p.fallback));
        } else if (values_[i] && p.kind == ParameterKind::flag) {
            text += fmt::format(",{}", p.name);
        } else if (values_[i]) {
            text += fmt::format(",{}:{}", p.name, *values_[i]);
        }
    }
    return text;
}

bool has_own_signal(const PolicySpec& spec) {
    return spec.has("delta") || spec.given("every") || spec.given("listed");
}

PolicySpec built_in_rule(PolicySpec spec) {
    if (spec.info().takes_decisions && !has_own_signal(spec)) spec.set("every", 16);
    return spec;
}

void apply_window(PolicySpec& spec, std::uint64_t window, const std::string& where) {
    if (spec.name() != window_info.name) return;
    if (spec.given("window") && spec.whole("window") != window) {
        throw usage_error(
            fmt::format("two different windows: {} and {} {}", spec.text(), where, window), where,
            "give one of them, or the same twice");
    }
    spec.set("window", static_cast<double>(window), where);
}

}  // namespace rudder::buffer
