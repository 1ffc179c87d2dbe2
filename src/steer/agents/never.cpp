// never: sends no action.
#include "agents.hpp"

namespace rudder::steer {

const AgentInfo never_info{{"never", "Sends no action: the policy runs as configured."},
                           "nothing",
                           "nothing",
                           /*decides=*/false,
                           /*fixed=*/true};

namespace {

class NeverAgent final : public Agent {
public:
    /// Far apart: nobody need ask.
    [[nodiscard]] std::uint64_t interval() const noexcept override { return 1ULL << 32; }
    [[nodiscard]] Answer decide(const Observation& /*observation*/) override {
        return {.action = Action::keep(Reason::rule)};
    }
};

}  // namespace

std::unique_ptr<Agent> make_never(const AgentSpec& /*spec*/, const AgentFacts& /*facts*/) {
    return std::make_unique<NeverAgent>();
}

}  // namespace rudder::steer
