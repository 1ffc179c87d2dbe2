// every:N: replaces in every N-th step.
#include <array>

#include "agents.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<SpecParameter, 1> every_parameters{
    {{"every", ParameterKind::whole, 1, 4294967295.0, 16,
      "interval N: replace in steps N, 2N, ..., counted from 1"}}};

class EveryAgent final : public Agent {
public:
    explicit EveryAgent(std::uint64_t every) : every_(every) {}

    [[nodiscard]] Answer decide(const Observation& observation) override {
        const bool now = (observation.step + 1) % every_ == 0;
        return {.action = now ? Action::replace(Reason::rule) : Action::keep(Reason::rule)};
    }

private:
    std::uint64_t every_;
};

}  // namespace

const AgentInfo every_info{
    {"every", "Replaces in every N-th step.", every_parameters, SpecValue::required},
    "nothing",
    "nothing",
    /*decides=*/true,
    /*fixed=*/true};

std::unique_ptr<Agent> make_every(const AgentSpec& spec, const AgentFacts& /*facts*/) {
    return std::make_unique<EveryAgent>(spec.whole("every"));
}

}  // namespace rudder::steer
