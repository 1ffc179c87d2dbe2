#include "rule_pilot.hpp"

#include <algorithm>
#include <utility>

namespace rudder::steer {

RulePilot::RulePilot(std::unique_ptr<Agent> agent, Setting start)
    : agent_(std::move(agent)), setting_(std::move(start)) {}

void RulePilot::timed(const Seconds& seconds, std::uint64_t queue_bytes,
                      std::uint64_t queue_limit) {
    seconds_ += seconds;
    if (seconds_.steps < agent_->interval()) return;
    Observation seen;
    seen.setting = setting();
    seen.seconds = std::exchange(seconds_, {});
    seen.queue_bytes = queue_bytes;
    seen.queue_limit = queue_limit;
    const Action action = agent_->decide(seen).action;
    KnobLimits limits;
    limits.slots = seen.setting.capacity;
    Monitor::Lock lock(monitor_);
    setting_ = with_changes(seen.setting, action.knobs, limits, "knobs");
}

Setting RulePilot::setting() const {
    Monitor::Lock lock(monitor_);
    return setting_;
}

void RulePilot::limited(std::uint64_t /*step*/, buffer::SlotId most) {
    Monitor::Lock lock(monitor_);
    setting_.capacity = std::min<std::uint64_t>(setting_.capacity, most);
}

buffer::PilotOrder RulePilot::before(std::uint64_t /*step*/, const buffer::IdBuffer& buffer) {
    buffer::PilotOrder order;
    const Setting wanted = setting();
    if (wanted.policy != buffer.spec())
        order.changes.push_back({.policy = wanted.policy, .capacity = {}});
    return order;
}

}  // namespace rudder::steer
