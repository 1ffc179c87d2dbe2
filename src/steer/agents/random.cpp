// random:P: replaces by chance.
#include "rudder/core/random.hpp"

#include <array>

#include "agents.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<SpecParameter, 2> random_parameters{
    {{"chance", ParameterKind::real, 0, 1, 0.1, "probability of a replacement in a step"},
     {"fraction", ParameterKind::real, 0, 1, 1, "largest share of the buffer replaced at once"}}};

class RandomAgent final : public Agent {
public:
    RandomAgent(const AgentSpec& spec, std::uint64_t seed)
        : stream_({.purpose = Purpose::steer, .seed = seed}),
          chance_(spec.number("chance")),
          fraction_(spec.number("fraction")) {}

    [[nodiscard]] Answer decide(const Observation& observation) override {
        // By step, not in turn: an observation more or less changes no other decision.
        const bool now = Draws(stream_, observation.step).uniform() < chance_;
        return {.action = now ? Action::replace(Reason::chance, fraction_)
                              : Action::keep(Reason::chance)};
    }

private:
    RandomStream stream_;
    double chance_;
    double fraction_;
};

}  // namespace

const AgentInfo random_info{
    {"random", "Replaces in a step with the given chance, the same for the same seed.",
     random_parameters, SpecValue::optional},
    "nothing",
    "nothing",
    /*decides=*/true,
    /*fixed=*/true};

std::unique_ptr<Agent> make_random(const AgentSpec& spec, const AgentFacts& facts) {
    return std::make_unique<RandomAgent>(spec, facts.seed);
}

}  // namespace rudder::steer
