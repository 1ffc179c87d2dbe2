// An agent of one's own: replaces half of the buffer when the hit rate has fallen twice in a row.
#include <memory>

#include "rudder/steer/agent_spec.hpp"

namespace {

class FallingAgent final : public rudder::steer::Agent {
public:
    explicit FallingAgent(const rudder::steer::AgentFacts& facts)
        : interval_(facts.steps_per_epoch >= 100 ? 8 : 1) {}

    [[nodiscard]] std::uint64_t interval() const noexcept override { return interval_; }

    [[nodiscard]] rudder::steer::Answer decide(const rudder::steer::Observation& seen) override {
        using rudder::steer::Action;
        using rudder::steer::Reason;
        const double rate = seen.hit_rate();
        falls_ = rate < last_ ? falls_ + 1 : 0;
        last_ = rate;
        if (seen.steps_left() < 10) return {.action = Action::keep(Reason::ending)};
        if (falls_ < 2) return {.action = Action::keep(Reason::good_enough)};
        falls_ = 0;
        return {.action = Action::replace(Reason::low_hit_rate, 0.5),
                .note = "the hit rate fell to " + std::to_string(rate)};
    }

private:
    std::uint64_t interval_;
    double last_ = 0;
    int falls_ = 0;
};

}  // namespace

std::unique_ptr<rudder::steer::Agent> make_falling_agent(const rudder::steer::AgentFacts& facts) {
    return std::make_unique<FallingAgent>(facts);
}
