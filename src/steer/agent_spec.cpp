#include "rudder/steer/agent_spec.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "steer/agents/agents.hpp"

namespace rudder::steer {

namespace {

using ParameterKind = AgentParameter::Kind;

/// The words a parameter takes: those in front of its help, if there are several.
std::vector<std::string_view> words_of(const AgentParameter& p) {
    const std::string_view front = p.help.substr(0, p.help.find_first_of(" ,:;"));
    if (p.kind != ParameterKind::word || front.find('|') == std::string_view::npos) return {};
    return split(front, '|');
}

bool is_number(const AgentParameter& p) {
    return p.kind == ParameterKind::whole || p.kind == ParameterKind::real;
}

std::string range_text(const AgentParameter& p) {
    switch (p.kind) {
        case ParameterKind::whole:
        case ParameterKind::real:
            return fmt::format("a {}number from {} and up to {}",
                               p.kind == ParameterKind::whole ? "whole " : "", p.minimum,
                               p.maximum);
        case ParameterKind::file:
            return "a file";
        case ParameterKind::agents:
            return "agents joined by '+'";
        case ParameterKind::flag:
            return "no value";
        case ParameterKind::word:
            break;
    }
    const auto words = words_of(p);
    return words.empty() ? "a word" : fmt::format("one of {}", join(words, ", "));
}

std::string known_keys(const AgentInfo& info) {
    if (info.parameters.empty()) return fmt::format("'{}' has no parameters", info.name);
    std::string text = fmt::format("'{}' knows ", info.name);
    for (const AgentParameter& p : info.parameters) {
        if (&p != info.parameters.data()) text += ", ";
        text += fmt::format("{} ({})", p.name, range_text(p));
    }
    return text;
}

Error no_value(const AgentInfo& info, const AgentParameter& p, std::string_view text,
               const std::string& where) {
    return usage_error(
        fmt::format("'{}' is no value for '{}' of agent '{}'", text, p.name, info.name), where,
        fmt::format("give {}", range_text(p)));
}

/// The canonical text of a value; a usage Error if it is none.
std::string checked_value(const AgentInfo& info, const AgentParameter& p, std::string_view text,
                          const std::string& where) {
    if (is_number(p)) {
        const auto number = parse_double(text);
        if (!number || *number < p.minimum || *number > p.maximum ||
            (p.kind == ParameterKind::whole && *number != std::floor(*number))) {
            throw no_value(info, p, text, where);
        }
        return fmt::format("{}", *number);
    }
    const auto words = words_of(p);
    const bool known = words.empty() || std::ranges::find(words, text) != words.end();
    if (p.kind != ParameterKind::flag && (text.empty() || !known))
        throw no_value(info, p, text, where);
    return std::string(text);
}

/// The names before ':' of "key:value", and what is behind it.
std::pair<std::string_view, std::optional<std::string_view>> halves(std::string_view word) {
    const auto colon = word.find(':');
    if (colon == std::string_view::npos) return {word, std::nullopt};
    return {word.substr(0, colon), word.substr(colon + 1)};
}

bool knows(const AgentInfo& info, std::string_view key) {
    return std::ranges::any_of(info.parameters, [&](const auto& p) { return p.name == key; });
}

}  // namespace

const AgentInfo& agent_info(std::string_view name, const std::string& where) {
    std::vector<std::string_view> names;
    for (const AgentInfo* info : all_agents()) {
        if (info->name == name) return *info;
        names.push_back(info->name);
    }
    const auto meant = nearest(name, names);
    throw usage_error(
        fmt::format("unknown agent '{}'", name), where,
        fmt::format("{}use one of {}", meant ? fmt::format("did you mean '{}'? ", *meant) : "",
                    join(names, ", ")));
}

AgentSpec::AgentSpec(const AgentInfo& info) : info_(&info), values_(info.parameters.size()) {}

AgentSpec AgentSpec::parse(std::string_view text, const std::string& where) {
    const std::size_t name_end = text.find_first_of(":,");
    AgentSpec spec(agent_info(text.substr(0, name_end), where));
    const AgentInfo& info = spec.info();
    std::string_view rest = name_end == std::string_view::npos ? "" : text.substr(name_end);
    if (rest.starts_with(':')) {
        if (!info.has_value) {
            throw usage_error(fmt::format("agent '{}' takes no value of its own", info.name), where,
                              known_keys(info));
        }
        const bool members = info.parameters[0].kind == ParameterKind::agents;
        const std::size_t end = members ? std::string_view::npos : rest.find(',');
        spec.set(info.parameters[0].name,
                 rest.substr(1, end == std::string_view::npos ? end : end - 1), where);
        rest = end == std::string_view::npos ? "" : rest.substr(end);
    }
    while (!rest.empty()) {
        rest.remove_prefix(1);  // the comma
        const std::size_t at = spec.index(halves(rest.substr(0, rest.find(','))).first);
        const bool members =
            at != info.parameters.size() && info.parameters[at].kind == ParameterKind::agents;
        const std::size_t end = members ? std::string_view::npos : rest.find(',');
        spec.set_key(rest.substr(0, end), where);
        rest = end == std::string_view::npos ? "" : rest.substr(end);
    }
    if (info.value_required && !spec.values_[0]) {
        throw usage_error(fmt::format("agent '{}' needs a value", info.name), where,
                          fmt::format("write {}:VALUE; {}", info.name, known_keys(info)));
    }
    return spec;
}

void AgentSpec::set_key(std::string_view word, const std::string& where) {
    const auto [key, value] = halves(word);
    const AgentParameter& p = info_->parameters[required(key, where)];
    if (value.has_value() == (p.kind == ParameterKind::flag)) {
        throw usage_error(
            fmt::format("'{}' of agent '{}' {} value", key, name(), value ? "takes no" : "needs a"),
            where, known_keys(*info_));
    }
    set(p.name, value.value_or("1"), where);
}

void AgentSpec::set(std::string_view parameter, std::string_view value, const std::string& where) {
    const std::size_t at = required(parameter, where);
    if (values_[at]) {
        throw usage_error(fmt::format("'{}' of agent '{}' is given twice", parameter, name()),
                          where, "give it once");
    }
    const AgentParameter& p = info_->parameters[at];
    if (p.kind == ParameterKind::agents) {
        values_[at].emplace();
        set_members(value, where);
    } else {
        values_[at] = checked_value(*info_, p, value, where);
    }
}

void AgentSpec::set_members(std::string_view text, const std::string& where) {
    const auto pieces = split(text, '+');
    for (const std::string_view piece : pieces) {
        std::string member(piece);
        if (&piece == &pieces.back()) {
            // Keys that the last member does not have are ours.
            const auto words = split(piece, ',');
            member = words[0];
            const AgentInfo& info = agent_info(halves(words[0]).first, where);
            for (std::size_t i = 1; i < words.size(); ++i) {
                const auto key = halves(words[i]).first;
                if (!knows(info, key) && knows(*info_, key)) {
                    set_key(words[i], where);
                } else {
                    member += fmt::format(",{}", words[i]);
                }
            }
        }
        members_.push_back(parse(member, where));
        if (!members_.back().members().empty()) {
            throw usage_error(fmt::format("'{}' cannot be a member of '{}'", member, name()), where,
                              "name its members instead");
        }
    }
}

std::size_t AgentSpec::index(std::string_view parameter) const noexcept {
    const auto all = info_->parameters;
    const auto found = std::ranges::find(all, parameter, &AgentParameter::name);
    return static_cast<std::size_t>(found - all.begin());
}

std::size_t AgentSpec::required(std::string_view parameter, const std::string& where) const {
    const std::size_t at = index(parameter);
    if (at != values_.size()) return at;
    std::vector<std::string_view> names;
    for (const AgentParameter& p : info_->parameters)
        names.push_back(p.name);
    const auto meant = nearest(parameter, names);
    throw usage_error(
        fmt::format("agent '{}' has no parameter '{}'", name(), parameter), where,
        (meant ? fmt::format("did you mean '{}'? ", *meant) : "") + known_keys(*info_));
}

bool AgentSpec::given(std::string_view parameter) const {
    const std::size_t at = index(parameter);
    return at != values_.size() && values_[at].has_value();
}

std::string AgentSpec::text(std::string_view parameter) const {
    const std::size_t at = index(parameter);
    RUDDER_CHECK(at != values_.size());
    return values_[at].value_or(std::string(info_->parameters[at].fallback));
}

double AgentSpec::number(std::string_view parameter) const {
    const std::size_t at = index(parameter);
    RUDDER_CHECK(at != values_.size());
    if (info_->parameters[at].kind == ParameterKind::flag) return given(parameter) ? 1 : 0;
    const auto number = parse_double(text(parameter));
    RUDDER_CHECK(number.has_value());
    return *number;
}

bool AgentSpec::decides() const noexcept {
    // A bandit says when to replace only if that is among what it may set.
    const bool asked = knows(*info_, "knobs") && given("knobs") &&
                       text("knobs").find("decide") != std::string::npos;
    return info_->decides || asked ||
           std::ranges::any_of(members_, [](const AgentSpec& m) { return m.decides(); });
}

std::string AgentSpec::text() const {
    std::string members;
    for (const AgentSpec& member : members_)
        members += fmt::format("{}{}", members.empty() ? "" : "+", member.text());
    std::string value;
    std::string keys;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const AgentParameter& p = info_->parameters[i];
        if (!values_[i] || p.kind == ParameterKind::agents) continue;
        if (i == 0 && info_->has_value) {
            value = fmt::format(":{}", *values_[i]);
        } else {
            keys += p.kind == ParameterKind::flag ? fmt::format(",{}", p.name)
                                                  : fmt::format(",{}:{}", p.name, *values_[i]);
        }
    }
    if (!members.empty() && keys.empty()) return fmt::format("{}:{}", name(), members);
    if (!members.empty()) keys += fmt::format(",{}:{}", info_->parameters[0].name, members);
    return fmt::format("{}{}{}", name(), value, keys);
}

void check_agent(const AgentSpec& agent, const buffer::PolicySpec& policy) {
    if (!agent.decides() || !buffer::has_own_signal(policy)) return;
    throw usage_error(fmt::format("agent '{}' says when to replace, and so does policy '{}'",
                                  agent.text(), policy.text()),
                      "--agent",
                      "leave out every, delta or listed of the policy, or use --agent never");
}

}  // namespace rudder::steer
