// always: replaces in every step.
#include "agents.hpp"

namespace rudder::steer {

const AgentInfo always_info{
    {"always", "Replaces in every step."}, "nothing", "nothing", /*decides=*/true, /*fixed=*/true};

namespace {

class AlwaysAgent final : public Agent {
public:
    [[nodiscard]] Answer decide(const Observation& /*observation*/) override {
        return {.action = Action::replace(Reason::rule)};
    }
};

}  // namespace

std::unique_ptr<Agent> make_always(const AgentSpec& /*spec*/, const AgentFacts& /*facts*/) {
    return std::make_unique<AlwaysAgent>();
}

}  // namespace rudder::steer
