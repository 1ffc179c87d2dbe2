// scored-faithful: Rudder's rules as published.
#include <array>

#include "policies.hpp"
#include "published_scores.hpp"

namespace rudder::buffer {

namespace {

constexpr std::array<SpecParameter, 4> faithful_parameters{
    {{"every", ParameterKind::whole, 1, 4294967295.0, std::nullopt,
      "steps between two replacements; not given: the agent decides"},
     {"listed", ParameterKind::flag, 0, 1, std::nullopt,
      "replace in the steps that the trace lists"},
     {"alpha", ParameterKind::real, 0, 1, 0.05,
      "share of its score that an unused row loses per step", true, true},
     {"period", ParameterKind::whole, 1, 1000000, 1,
      "exponent of the eviction threshold (1 - alpha)^period"}}};

}  // namespace

const PolicyInfo scored_faithful_info{{"scored-faithful",
                                       "Replaces idle rows by the most missed ones when a "
                                       "replacement is due, exactly by the published rules.",
                                       faithful_parameters},
                                      "Rudder (Sarkar et al., ICS 2026)",
                                      true};

std::unique_ptr<Policy> make_scored_faithful(const PolicySpec& spec, const PolicyFacts& facts,
                                             Residents& residents) {
    const PublishedRules rules{spec.number("alpha"), spec.whole("period"), false};
    return std::make_unique<PublishedScores>(facts, residents, rules, Signal::of(spec, facts));
}

}  // namespace rudder::buffer
