#include "rudder/core/spec.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/spec_registry.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/text.hpp"

namespace rudder {

namespace {

constexpr std::size_t to_end = std::string_view::npos;

bool is_number(const SpecParameter& p) {
    return p.kind == ParameterKind::whole || p.kind == ParameterKind::real;
}

std::string range_text(const SpecParameter& p) {
    switch (p.kind) {
        case ParameterKind::whole:
        case ParameterKind::real:
            return fmt::format("a {}number {} {} and {} {}",
                               p.kind == ParameterKind::whole ? "whole " : "",
                               p.above_minimum ? "above" : "from", p.minimum,
                               p.below_maximum ? "below" : "up to", p.maximum);
        case ParameterKind::flag:
            return "no value";
        case ParameterKind::file:
            return "a file";
        case ParameterKind::specs:
            return "several, joined by '+'";
        case ParameterKind::word:
            break;
    }
    return p.words.empty() ? "a word" : fmt::format("one of {}", join(p.words, ", "));
}

std::string known_keys(const SpecInfo& info) {
    if (info.parameters.empty()) return fmt::format("'{}' has no parameters", info.name);
    std::string text = fmt::format("'{}' takes ", info.name);
    for (const SpecParameter& p : info.parameters) {
        if (&p != info.parameters.data()) text += ", ";
        text += fmt::format("{} ({})", p.name, range_text(p));
    }
    return text;
}

Error invalid_value(std::string_view noun, const SpecInfo& info, const SpecParameter& p,
                    std::string_view text, const std::string& where) {
    return usage_error(
        fmt::format("invalid value for '{}' of {} '{}': '{}'", p.name, noun, info.name, text),
        where, fmt::format("give {}", range_text(p)));
}

}  // namespace

Error unknown_name(std::string_view noun, std::string_view name,
                   std::span<const std::string_view> names, const std::string& where) {
    const auto meant = nearest(name, names);
    return usage_error(
        fmt::format("unknown {} '{}'", noun, name), where,
        fmt::format("{}use one of {}", meant ? fmt::format("did you mean '{}'? ", *meant) : "",
                    join(names, ", ")));
}

std::string SpecParameter::fallback_text() const {
    return fallback ? fmt::format("{}", *fallback) : std::string(word);
}

Spec::Spec(const SpecFamily& family, const SpecInfo& info)
    : family_(&family), info_(&info), values_(info.parameters.size()) {}

Spec Spec::parse(const SpecFamily& family, std::string_view text, const std::string& where) {
    const std::size_t name_end = text.find_first_of(":,");
    Spec spec(family, family.find(text.substr(0, name_end), where));
    std::string_view rest = name_end == to_end ? "" : text.substr(name_end);
    while (!rest.empty()) {
        const bool own = rest.front() == ':';  // else a comma
        rest.remove_prefix(1);
        std::string_view word = rest.substr(0, rest.find(','));
        const std::size_t colon = own ? to_end : word.find(':');
        const std::size_t at =
            own ? spec.value_index(where) : spec.required(word.substr(0, colon), where);
        if (spec.info().parameters[at].kind == ParameterKind::specs) word = rest;
        rest.remove_prefix(word.size());
        if (own) {
            spec.read(at, word, where);
        } else {
            spec.read(at, colon == to_end ? std::nullopt : std::optional(word.substr(colon + 1)),
                      where);
        }
    }
    if (spec.info().value == SpecValue::required && spec.values_[0].index() == 0) {
        throw usage_error(fmt::format("{} '{}' needs a value", family.noun, spec.name()), where,
                          fmt::format("write {}:VALUE; {}", spec.name(), known_keys(spec.info())));
    }
    return spec;
}

void Spec::read(std::size_t at, std::optional<std::string_view> value, const std::string& where) {
    const SpecParameter& p = info_->parameters[at];
    if (values_[at].index() != 0) {
        throw usage_error(
            fmt::format("'{}' of {} '{}' is given twice", p.name, family_->noun, name()), where,
            "give it once");
    }
    if (value.has_value() == (p.kind == ParameterKind::flag)) {
        throw usage_error(fmt::format("'{}' of {} '{}' {} value", p.name, family_->noun, name(),
                                      value ? "takes no" : "needs a"),
                          where, known_keys(*info_));
    }
    if (p.kind == ParameterKind::flag) {
        put(at, 1, where);
    } else if (is_number(p)) {
        const auto number = parse_double(*value);
        if (!number) throw invalid_value(family_->noun, *info_, p, *value, where);
        put(at, *number, where);
    } else {
        if (value->empty() || (!p.words.empty() && std::ranges::count(p.words, *value) == 0))
            throw invalid_value(family_->noun, *info_, p, *value, where);
        if (p.kind == ParameterKind::specs) read_members(*value, where);
        values_[at] = std::string(p.kind == ParameterKind::specs ? "" : *value);
    }
}

void Spec::read_members(std::string_view text, const std::string& where) {
    for (const std::string_view member : split(text, '+')) {
        members_.push_back(parse(*family_, member, where));
        if (!members_.back().members_.empty()) {
            throw usage_error(fmt::format("'{}' cannot be a member of '{}'", member, name()), where,
                              "name its members instead");
        }
    }
}

void Spec::put(std::size_t at, double value, const std::string& where) {
    const SpecParameter& p = info_->parameters[at];
    const bool whole = p.kind == ParameterKind::real || value == std::floor(value);
    const bool low = p.above_minimum ? value > p.minimum : value >= p.minimum;
    const bool high = p.below_maximum ? value < p.maximum : value <= p.maximum;
    if (p.kind != ParameterKind::flag && !(is_number(p) && whole && low && high))
        throw invalid_value(family_->noun, *info_, p, fmt::format("{}", value), where);
    values_[at] = value;
}

std::size_t Spec::index(std::string_view parameter) const noexcept {
    const auto found = std::ranges::find(info_->parameters, parameter, &SpecParameter::name);
    return static_cast<std::size_t>(found - info_->parameters.begin());
}

std::size_t Spec::required(std::string_view parameter, const std::string& where) const {
    const std::size_t at = index(parameter);
    if (at != values_.size()) return at;
    std::vector<std::string_view> names;
    for (const SpecParameter& p : info_->parameters)
        names.push_back(p.name);
    const auto meant = nearest(parameter, names);
    throw usage_error(
        fmt::format("{} '{}' has no parameter '{}'", family_->noun, name(), parameter), where,
        (meant ? fmt::format("did you mean '{}'? ", *meant) : "") + known_keys(*info_));
}

std::size_t Spec::value_index(const std::string& where) const {
    if (info_->value != SpecValue::none) return 0;
    throw usage_error(fmt::format("{} '{}' takes no value of its own", family_->noun, name()),
                      where, known_keys(*info_));
}

Spec::Value Spec::shown(std::size_t at) const {
    const auto& fallback = info_->parameters[at].fallback;
    if (at != 0 || info_->value != SpecValue::shown || values_[at].index() != 0 || !fallback)
        return values_[at];
    return *fallback;
}

bool operator==(const Spec& a, const Spec& b) {
    if (a.info_ != b.info_ || a.members_ != b.members_) return false;
    for (std::size_t i = 0; i < a.values_.size(); ++i)
        if (a.shown(i) != b.shown(i)) return false;
    return true;
}

bool Spec::has(std::string_view parameter) const noexcept {
    return index(parameter) != values_.size();
}

bool Spec::given(std::string_view parameter) const noexcept {
    return has(parameter) && values_[index(parameter)].index() != 0;
}

double Spec::number(std::string_view parameter) const {
    const std::size_t at = index(parameter);
    RUDDER_CHECK(at < values_.size());
    const auto* number = std::get_if<double>(&values_[at]);
    return number != nullptr ? *number : info_->parameters[at].fallback.value_or(0);
}

std::string Spec::text(std::string_view parameter) const {
    const std::size_t at = index(parameter);
    RUDDER_CHECK(at < values_.size());
    const auto* text = std::get_if<std::string>(&values_[at]);
    return text != nullptr ? *text : std::string(info_->parameters[at].word);
}

void Spec::set(std::string_view parameter, double value, const std::string& where) {
    put(required(parameter, where), value, where);
}

std::string Spec::text() const {
    std::string text(name());
    std::string members;
    for (const Spec& member : members_)
        members += (members.empty() ? "" : "+") + member.text();
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const SpecParameter& p = info_->parameters[i];
        const Value value = shown(i);
        if (value.index() == 0 || p.kind == ParameterKind::specs) continue;
        text += i == 0 && info_->value != SpecValue::none ? ":" : fmt::format(",{}", p.name);
        if (p.kind == ParameterKind::flag) continue;
        if (text.back() != ':') text += ':';
        text += is_number(p) ? fmt::format("{}", std::get<double>(value))
                             : std::get<std::string>(value);
    }
    if (members.empty()) return text;
    // Members come last, since all that follows is theirs.
    const bool alone = text.size() == name().size();
    return alone ? fmt::format("{}:{}", name(), members)
                 : fmt::format("{},{}:{}", text, info_->parameters[0].name, members);
}

}  // namespace rudder
