// How a policy is written: name[:value]{,key:value}.
#pragma once

#include "rudder/core/spec.hpp"

namespace rudder::buffer {

/// A policy's description.
struct PolicyInfo : SpecInfo {
    std::string_view paper;        ///< where it is from
    bool takes_decisions = false;  ///< an agent may tell it when to replace
};

/// All policies, in the order of the design's table.
[[nodiscard]] std::span<const PolicyInfo* const> all_policies() noexcept;
/// The policy of that name; a usage Error that lists the known ones otherwise. `where` is the
/// option it came from.
[[nodiscard]] const PolicyInfo& policy_info(std::string_view name, const std::string& where);

/// A policy with its parameters.
class PolicySpec : public Spec {
public:
    /// Parses; a usage Error names what is wrong and lists the known names, keys or ranges.
    [[nodiscard]] static PolicySpec parse(std::string_view text,
                                          const std::string& where = "--policy");
    /// The policy with nothing given.
    explicit PolicySpec(const PolicyInfo& info);

    [[nodiscard]] const PolicyInfo& info() const noexcept {
        return static_cast<const PolicyInfo&>(Spec::info());
    }
    void set(std::string_view parameter, double value, const std::string& where = "--policy") {
        Spec::set(parameter, value, where);
    }

private:
    explicit PolicySpec(Spec spec) : Spec(std::move(spec)) {}
};

/// Whether a policy decides by itself when to replace: `every`, `delta` or `listed`.
[[nodiscard]] bool has_own_signal(const PolicySpec& spec);
/// The rule to fall back to when no agent decides: the policy with its own signal.
[[nodiscard]] PolicySpec built_in_rule(PolicySpec spec);
/// `window:W` and --window set the same thing: applies the latter to a window policy; a usage
/// Error if it was given another.
void apply_window(PolicySpec& spec, std::uint64_t window, const std::string& where = "--window");

}  // namespace rudder::buffer
