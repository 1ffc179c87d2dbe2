// window: exact next uses within the look-ahead window.
#include <array>

#include "policies.hpp"
#include "refuse.hpp"
#include "window_policy.hpp"

namespace rudder::buffer {

namespace {

constexpr std::array<SpecParameter, 4> window_parameters{
    {{"window", ParameterKind::whole, 1, 1000000, 16, "number of steps to look ahead"},
     {"distance", ParameterKind::whole, 0, 1000, 2,
      "largest number of steps that rows are fetched early (fewer in short windows)"},
     {"decay", ParameterKind::real, 0, 1, 0.99,
      "factor by which the count of a use decays per step", true},
     {"inclusion", ParameterKind::flag, 0, 1, std::nullopt,
      "rank rows without a known use by inclusion probability"}}};

}  // namespace

const PolicyInfo window_info{
    {"window",
     "Keeps the rows whose next use within W coming steps is nearest and fetches ahead what they "
     "need.",
     window_parameters, SpecValue::shown},
    "RapidGNN (Niam et al., 2025), Ginex (Park et al., VLDB 2022), and beyond"};

std::unique_ptr<Policy> make_window(const PolicySpec& spec, const PolicyFacts& facts,
                                    Residents& residents) {
    const WindowRules rules = WindowPolicy::rules_of(spec);
    require(!rules.inclusion || facts.inclusion.size() == facts.rows->halo(), spec,
            "the inclusion probabilities of the halo");
    return std::make_unique<WindowPolicy>(facts, residents, rules);
}

}  // namespace rudder::buffer
