// Agents by a fixed rule that looks at the number of the step alone: never, always, every, random.
#include <array>

#include "rudder/core/random.hpp"

#include "agents.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<SpecParameter, 1> every_parameters{
    {{"every", ParameterKind::whole, 1, 4294967295.0, 16,
      "interval N: replace in steps N, 2N, ..., counted from 1"}}};

constexpr std::array<SpecParameter, 2> random_parameters{
    {{"chance", ParameterKind::real, 0, 1, 0.1, "probability of a replacement in a step"},
     {"fraction", ParameterKind::real, 0, 1, 1, "largest share of the buffer replaced at once"}}};

class NeverAgent final : public Agent {
public:
    /// Far apart: nobody need ask.
    [[nodiscard]] std::uint64_t interval() const noexcept override { return 1ULL << 32; }
    [[nodiscard]] Answer decide(const Observation& /*observation*/) override {
        return {.action = Action::keep(Reason::rule)};
    }
};

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

/// All of them look at nothing and cost nothing.
constexpr AgentInfo fixed_info(const SpecInfo& spec, bool decides) {
    return {spec, "nothing", "nothing", decides, /*fixed=*/true};
}

}  // namespace

const AgentInfo never_info =
    fixed_info({"never", "Sends no action: the policy runs as configured."}, /*decides=*/false);
const AgentInfo always_info = fixed_info({"always", "Replaces in every step."}, /*decides=*/true);
const AgentInfo every_info =
    fixed_info({"every", "Replaces in every N-th step.", every_parameters, SpecValue::required},
               /*decides=*/true);
const AgentInfo random_info =
    fixed_info({"random", "Replaces in a step with the given chance, the same for the same seed.",
                random_parameters, SpecValue::optional},
               /*decides=*/true);

std::unique_ptr<Agent> make_never(const AgentSpec& /*spec*/, const AgentFacts& /*facts*/) {
    return std::make_unique<NeverAgent>();
}

std::unique_ptr<Agent> make_always(const AgentSpec& /*spec*/, const AgentFacts& /*facts*/) {
    return std::make_unique<EveryAgent>(1);
}

std::unique_ptr<Agent> make_every(const AgentSpec& spec, const AgentFacts& /*facts*/) {
    return std::make_unique<EveryAgent>(spec.whole("every"));
}

std::unique_ptr<Agent> make_random(const AgentSpec& spec, const AgentFacts& facts) {
    return std::make_unique<RandomAgent>(spec, facts.seed);
}

}  // namespace rudder::steer
