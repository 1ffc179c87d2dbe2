// What is known of replies: what decisions did that were tried, and policies that ran beside the
// run.
#pragma once

#include <string>
#include <vector>

#include "rudder/steer/agent.hpp"

namespace rudder::steer {

/// A reply whose effect was measured.
struct KnownEffect {
    Action action;
    double rows = 0;  ///< fetched per step with it
    double base = 0;  ///< and what that is compared with
};

/// Of each action that the schema of replies takes and that would change something, what was last
/// seen, oldest first: of past decisions (unless `history` is false) a setting's rows against those
/// of now, and a replacement's against those before it; of the policies that run beside the buffer,
/// and of the built-in rule, their rows against those of the twin.
[[nodiscard]] std::vector<KnownEffect> known_effects(const Observation& seen, bool history);

/// Rows against others in per cent, always as long: "-04.8 %", at most 99.9 either way.
[[nodiscard]] std::string percent_text(double rows, double base);

/// The reply that asks for an action, as short as it can be written.
[[nodiscard]] std::string shortest_reply(const Action& action);

/// A line for each effect, the per cents first, under a heading; empty where none is known.
[[nodiscard]] std::string effects_text(const Observation& seen, bool history);

/// Shadows that run the first `most` policies a reply may choose: those that are missing, and those
/// whose capacity is no more that of the run. The built-in rule runs in any case.
[[nodiscard]] std::vector<ShadowOrder> policies_beside(const Observation& seen,
                                                       const buffer::PolicySpec& built_in,
                                                       std::size_t most);

}  // namespace rudder::steer
