// What regret is measured against: one declared class of settings, the same for every agent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/buffer/replay.hpp"
#include "rudder/buffer/trace.hpp"
#include "rudder/steer/observation.hpp"

namespace rudder::steer {

/// A setting that could have been chosen before a run and left alone: a policy, at the capacity of
/// the run, and for one of them a rule of when to replace.
struct Rival {
    std::string name;
    buffer::PolicySpec policy;
    /// Replaces before a step whose predecessor had a lower hit rate (the agent `threshold`); 0: by
    /// the policy alone.
    double replaces_below = 0;

    /// Whether it replaces, after a step with these counts.
    [[nodiscard]] bool replaces(const Rows& last) const noexcept {
        return last.needed != 0 && hit_rate(last) < replaces_below;
    }
    /// Whether the facts hold what its policy needs.
    [[nodiscard]] bool possible(const buffer::PolicyFacts& facts) const;
};

/// The class: no buffer, the static ones, lru, lfu, `scored` that replaces every 1 to 32 steps or
/// below a hit rate, and windows of 4 to 64 steps.
[[nodiscard]] std::span<const Rival> declared_class();
/// The most steps that one of them looks ahead.
[[nodiscard]] std::uint64_t class_horizon();

/// Rows of every rival on a trace, summed over its hosts, with that capacity on each.
struct RivalRows {
    std::vector<std::optional<std::uint64_t>> fetched;  ///< by rival; none: it lacks a fact

    /// The first of the best: its place in the class.
    [[nodiscard]] std::size_t best() const;
    [[nodiscard]] std::uint64_t best_rows() const { return *fetched[best()]; }
};
[[nodiscard]] RivalRows rival_rows(const buffer::Trace& trace,
                                   std::span<const std::uint64_t> capacity);

/// Rows over those of others, less 1; 0 where others have none.
[[nodiscard]] double rows_beyond(std::uint64_t rows, std::uint64_t others) noexcept;

}  // namespace rudder::steer
