// periodic: MassiveGNN's scores, eviction every delta steps.
#include <array>

#include "policies.hpp"
#include "published_scores.hpp"

namespace rudder::buffer {

namespace {

constexpr std::array<SpecParameter, 2> periodic_parameters{
    {{"alpha", ParameterKind::real, 0, 1, 0.05,
      "share of its score that an unused row loses per step", true, true},
     {"delta", ParameterKind::whole, 1, 1000000, 8, "steps between two replacements"}}};

}  // namespace

const PolicyInfo periodic_info{
    {"periodic",
     "Starts with the rows of highest degree and replaces idle rows by missed ones every delta "
     "steps.",
     periodic_parameters},
    "MassiveGNN (Sarkar et al., CLUSTER 2024)"};

std::unique_ptr<Policy> make_periodic(const PolicySpec& spec, const PolicyFacts& facts,
                                      Residents& residents) {
    require(facts.halo_degree.size() == facts.rows->halo(), spec, "the degrees of the halo");
    const PublishedRules rules{spec.number("alpha"), spec.whole("delta"), true};
    return std::make_unique<PublishedScores>(facts, residents, rules, Signal::of(spec, facts));
}

}  // namespace rudder::buffer
