// static-random: halo rows drawn at random, for good.
#include <array>

#include "rudder/core/random.hpp"

#include "policies.hpp"
#include "static_policy.hpp"

namespace rudder::buffer {

namespace {

constexpr std::array<SpecParameter, 1> random_fill_parameters{
    {{"seed", ParameterKind::whole, 0, 9007199254740992.0, 0, "random seed of the selection"}}};

}  // namespace

const PolicyInfo static_random_info{
    {"static-random", "Fetches halo rows drawn at random at the start and never changes them.",
     random_fill_parameters},
    "MassiveGNN without eviction (Sarkar et al., CLUSTER 2024)"};

std::unique_ptr<Policy> make_static_random(const PolicySpec& spec, const PolicyFacts& facts,
                                           Residents& residents) {
    // Drawn by vertex, so that the ranking is the same for any numbering.
    const RandomStream stream({Purpose::partition, spec.whole("seed"), 0, 0x73746174U, 0});
    std::vector<std::uint64_t> weight(facts.rows->halo());
    for (RowKey row = 0; row < facts.rows->halo(); ++row) {
        Draws draws(stream, facts.rows->vertex(row));
        weight[row] = draws.next64();
    }
    return std::make_unique<StaticPolicy>(facts, residents,
                                          ranking_of(std::span<const std::uint64_t>(weight)));
}

}  // namespace rudder::buffer
