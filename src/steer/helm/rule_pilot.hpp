// Steers a buffer by a rule that looks at times alone: without shadows, guard or log.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/executor/monitor.hpp"
#include "rudder/buffer/pilot.hpp"
#include "rudder/steer/agent.hpp"

namespace rudder::steer {

/// The agent is asked by a plain call of the training task, so it must answer at once; its changes
/// of the policy take effect at the next step that begins. On ranks that are not the first of their
/// buffer nobody asks for orders, but the setting counts all the same.
class RulePilot final : public buffer::BufferPilot {
public:
    RulePilot(std::unique_ptr<Agent> agent, Setting start);

    /// How long a step took, and what the queue of sampled steps holds and may hold.
    void timed(const Seconds& seconds, std::uint64_t queue_bytes, std::uint64_t queue_limit);
    /// As the agent wants it.
    [[nodiscard]] Setting setting() const;

    void start(const buffer::PolicyFacts& /*facts*/, const buffer::IdBuffer& /*buffer*/) override {}
    void published(std::uint64_t /*step*/, std::span<const buffer::RowKey> /*rows*/) override {}
    buffer::PilotOrder before(std::uint64_t step, const buffer::IdBuffer& buffer) override;
    void after(std::uint64_t /*step*/, const Rows& /*accounts*/) override {}
    void limited(std::uint64_t step, buffer::SlotId most) override;

private:
    std::unique_ptr<Agent> agent_;
    Seconds seconds_;          ///< since the agent was asked
    mutable Monitor monitor_;  ///< guards what follows
    Setting setting_;
};

}  // namespace rudder::steer
