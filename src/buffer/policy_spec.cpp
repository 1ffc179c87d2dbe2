#include "rudder/buffer/policy_spec.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "buffer/policies/policies.hpp"
#include "rudder/buffer/knobs.hpp"
#include "rudder/core/error.hpp"

namespace rudder::buffer {

namespace {

constexpr SpecFamily policy_family{
    "policy",
    [](std::string_view name, const std::string& where) -> const SpecInfo& {
        return policy_info(name, where);
    },
};

}  // namespace

PolicySpec::PolicySpec(const PolicyInfo& info) : Spec(policy_family, info) {}

PolicySpec PolicySpec::parse(std::string_view text, const std::string& where) {
    PolicySpec spec(Spec::parse(policy_family, text, where));
    if (spec.given("listed") && spec.given("every")) {
        throw usage_error(fmt::format("'{}' has two signals, every and listed", text), where,
                          "give one of them");
    }
    return spec;
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

std::uint64_t horizon_of(const PolicySpec& policy) {
    return policy.has("window") ? policy.whole("window") : 0;
}

std::uint64_t distance_of(const PolicySpec& policy) {
    if (!policy.has("distance")) return 0;
    // What it plans ahead the rule cannot look ahead: short windows need all they have.
    const std::uint64_t most = horizon_of(policy) / (policy.given("distance") ? 2 : 8);
    return std::min(policy.whole("distance"), most);
}

}  // namespace rudder::buffer
