// scored-faithful: Rudder's rules as published.
#include <array>

#include "policies.hpp"
#include "published_scores.hpp"

namespace rudder::buffer {

namespace {

constexpr std::array<PolicyParameter, 4> faithful_parameters{
    {{"every", ParameterKind::whole, 1, 4294967295.0, 0, "replaces in every so many steps"},
     {"listed", ParameterKind::flag, 0, 1, 0, "replaces in the steps the trace lists"},
     {"alpha", ParameterKind::real, 0, 1, 0.05, "what an idle row's score loses per step", true,
      true},
     {"period", ParameterKind::whole, 1, 1000000, 1, "exponent of the threshold"}}};

}  // namespace

const PolicyInfo scored_faithful_info{
    "scored-faithful",
    "Replaces idle rows by the most missed ones when told to, exactly by the published rules.",
    "Rudder (Sarkar et al., ICS 2026)",
    faithful_parameters,
    false,
    true};

std::unique_ptr<Policy> make_scored_faithful(const PolicySpec& spec, const PolicyFacts& facts,
                                             Residents& residents) {
    const PublishedRules rules{spec.get("alpha"), spec.whole("period"), false};
    return std::make_unique<PublishedScores>(facts, residents, rules, Signal::of(spec, facts));
}

}  // namespace rudder::buffer
