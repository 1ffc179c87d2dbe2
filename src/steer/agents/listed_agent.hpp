// What schedule and replay share: actions by step.
#pragma once

#include <cstdint>
#include <vector>

#include "agents.hpp"

namespace rudder::steer {

struct ListedAction {
    std::uint64_t step;
    Action action;
};

/// Says at each step what a list has for it, and otherwise nothing. Several actions of one step
/// come one after the other, in as many steps.
class ListedAgent final : public Agent {
public:
    /// `list` is in the order of steps.
    ListedAgent(std::vector<ListedAction> list, Reason otherwise)
        : list_(std::move(list)), otherwise_(otherwise) {}

    /// An action whose step has passed without being asked is due still: nothing is left out
    /// because a question came late.
    [[nodiscard]] Answer decide(const Observation& observation) override {
        if (next_ == list_.size() || list_[next_].step > observation.step) {
            return {.action = Action::keep(otherwise_)};
        }
        return {.action = list_[next_++].action};
    }

private:
    std::vector<ListedAction> list_;
    Reason otherwise_;
    std::size_t next_ = 0;
};

}  // namespace rudder::steer
