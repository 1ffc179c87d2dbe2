// The agents of a simulation: who has one, what it is told, how its orders reach the others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rudder/train/observer.hpp"
#include "rudder/train/result.hpp"
#include "train/steps/clock_turns.hpp"

#include "buffer_group.hpp"
#include "timeline.hpp"

namespace rudder::train {

/// As Steering does it, but that agents are asked by plain calls: they answer within the step in
/// which they are asked.
class SteeredGroups {
public:
    /// Gives groups their helms, where somebody steers.
    SteeredGroups(const SimulatedGround& ground,
                  std::span<const std::unique_ptr<BufferGroup>> groups);

    /// What a step came to, before a step is begun that may know of it.
    void step_done(std::uint64_t step, std::span<const Rows> rows,
                   const std::vector<RankTimes>& times,
                   std::span<const std::vector<std::uint64_t>> rows_by_owner);
    /// Decisions that are complete; `all`: the others, too.
    [[nodiscard]] std::vector<steer::DecisionRecord> decisions(bool all);
    [[nodiscard]] AgentResult finish();
    [[nodiscard]] bool any() const noexcept { return any_; }

private:
    [[nodiscard]] steer::HelmOptions helm_options(const BufferGroup& group, bool leads) const;

    const SimulatedGround& ground_;
    std::span<const std::unique_ptr<BufferGroup>> groups_;
    bool any_ = false;
    bool of_job_ = false;
    ClockTurns turns_;
};

}  // namespace rudder::train
