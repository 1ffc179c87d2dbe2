// static-degree: the halo rows of highest degree, for good.
#include "policies.hpp"
#include "refuse.hpp"
#include "static_policy.hpp"

namespace rudder::buffer {

const PolicyInfo static_degree_info{
    {"static-degree",
     "Fetches the halo rows of highest degree at the start and never changes them."},
    "MassiveGNN without eviction (Sarkar et al., CLUSTER 2024)"};

std::unique_ptr<Policy> make_static_degree(const PolicySpec& spec, const PolicyFacts& facts,
                                           Residents& residents) {
    require(facts.halo_degree.size() == facts.rows->halo(), spec, "the degrees of the halo");
    return std::make_unique<StaticPolicy>(facts, residents, ranking_of(facts.halo_degree));
}

}  // namespace rudder::buffer
