// window: exact next uses within the look-ahead window.
#include <array>

#include "policies.hpp"
#include "refuse.hpp"
#include "window_policy.hpp"

namespace rudder::buffer {

namespace {

constexpr std::array<PolicyParameter, 4> window_parameters{
    {{"window", ParameterKind::whole, 1, 1000000, 16, "steps it looks ahead"},
     {"distance", ParameterKind::whole, 0, 1000, 2,
      "how many steps early it fetches, at most; short windows less"},
     {"decay", ParameterKind::real, 0, 1, 0.99, "what a use is worth a step later", true},
     {"inclusion", ParameterKind::flag, 0, 1, 0,
      "ranks rows without a known use by inclusion probability"}}};

}  // namespace

const PolicyInfo window_info{
    "window",
    "Keeps the rows whose next use within W coming steps is nearest and fetches ahead what they "
    "need.",
    "RapidGNN (Niam et al., 2025), Ginex (Park et al., VLDB 2022), and beyond", window_parameters,
    true};

std::unique_ptr<Policy> make_window(const PolicySpec& spec, const PolicyFacts& facts,
                                    Residents& residents) {
    const WindowRules rules = WindowPolicy::rules_of(spec);
    require(!rules.inclusion || facts.inclusion.size() == facts.rows->halo(), spec,
            "the inclusion probabilities of the halo");
    return std::make_unique<WindowPolicy>(facts, residents, rules);
}

}  // namespace rudder::buffer
