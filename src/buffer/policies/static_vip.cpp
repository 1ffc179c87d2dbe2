// static-vip: the halo rows of highest inclusion probability, for good.
#include "policies.hpp"
#include "refuse.hpp"
#include "static_policy.hpp"

namespace rudder::buffer {

const PolicyInfo static_vip_info{{"static-vip",
                                  "Fetches the halo rows that sampling most probably includes at "
                                  "the start and never changes them."},
                                 "SALIENT++ (Kaler et al., MLSys 2023)"};

std::unique_ptr<Policy> make_static_vip(const PolicySpec& spec, const PolicyFacts& facts,
                                        Residents& residents) {
    require(facts.inclusion.size() == facts.rows->halo(), spec,
            "the inclusion probabilities of the halo");
    return std::make_unique<StaticPolicy>(facts, residents, ranking_of(facts.inclusion));
}

}  // namespace rudder::buffer
