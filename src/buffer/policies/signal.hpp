// When a scored policy replaces (every so many steps, as listed, as the agent says); what it needs.
#pragma once

#include <cstdint>
#include <string>

#include "rudder/buffer/policy.hpp"
#include "rudder/buffer/policy_spec.hpp"
#include "rudder/core/error.hpp"

namespace rudder::buffer {

/// A usage Error unless the facts hold what the policy needs.
inline void require(bool there, const PolicySpec& spec, const std::string& what) {
    if (there) return;
    throw usage_error("policy '" + spec.text() + "' needs " + what + ", which are not known here",
                      "--policy", "choose another policy, or record a trace that has them");
}

/// A policy's own signal, or the agent's where it has none.
class Signal {
public:
    static Signal of(const PolicySpec& spec, const PolicyFacts& facts) {
        Signal signal;
        if (spec.has("delta")) signal.every_ = spec.whole("delta");
        if (spec.given("every")) signal.every_ = spec.whole("every");
        if (spec.given("listed")) {
            require(!facts.listed.empty() || facts.steps == 0, spec, "listed decisions");
            signal.listed_ = true;
        }
        return signal;
    }

    /// What holds in step `step` (from 0); `facts` has the listed decisions.
    [[nodiscard]] Decision at(std::uint64_t step, const Decision& agent,
                              const PolicyFacts& facts) const noexcept {
        if (every_ != 0) return {(step + 1) % every_ == 0, 1};
        if (listed_) return {step < facts.listed.size() && facts.listed[step] != 0, 1};
        return agent;
    }

private:
    std::uint64_t every_ = 0;
    bool listed_ = false;
};

/// How many rows a decision allows at most.
[[nodiscard]] inline std::size_t allowed(const Decision& decision, SlotId capacity) noexcept {
    const double share = decision.fraction < 0 ? 0 : decision.fraction > 1 ? 1 : decision.fraction;
    return static_cast<std::size_t>(share * static_cast<double>(capacity));
}

}  // namespace rudder::buffer
