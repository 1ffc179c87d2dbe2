#include "static_policy.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "rudder/core/random.hpp"

#include "policies.hpp"
#include "signal.hpp"

namespace rudder::buffer {

template <class T>
std::vector<RowKey> ranking_of(std::span<const T> weight) {
    std::vector<RowKey> rows(weight.size());
    std::iota(rows.begin(), rows.end(), RowKey{0});
    // Halo rows are numbered in ascending id, so the row itself breaks ties.
    std::sort(rows.begin(), rows.end(), [&](RowKey a, RowKey b) {
        return weight[a] != weight[b] ? weight[a] > weight[b] : a < b;
    });
    return rows;
}

template std::vector<RowKey> ranking_of(std::span<const std::uint32_t> weight);
template std::vector<RowKey> ranking_of(std::span<const std::uint64_t> weight);
template std::vector<RowKey> ranking_of(std::span<const double> weight);

void fill_with(std::span<const RowKey> ranking, Residents& residents, StepPlan& plan) {
    const std::size_t count = std::min<std::size_t>(ranking.size(), residents.capacity());
    std::vector<bool> chosen;
    for (std::size_t i = 0; i < count; ++i) {
        if (ranking[i] >= chosen.size()) chosen.resize(ranking[i] + std::size_t{1});
        chosen[ranking[i]] = true;
    }
    for (SlotId slot = 0; slot < residents.slots(); ++slot) {
        const RowKey row = residents.row_at(slot);
        if (row == no_row || (row < chosen.size() && chosen[row])) continue;
        plan.leave.push_back({row, residents.remove(row)});
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!residents.holds(ranking[i])) {
            plan.replacement.push_back({ranking[i], residents.place(ranking[i])});
        }
    }
}

void StaticPolicy::begin(std::uint64_t /*step*/, StepPlan& fill) {
    fill_with(ranking_, *residents_, fill);
}

const PolicyInfo static_degree_info{
    {"static-degree",
     "Fetches the halo rows of highest degree at the start and never changes them."},
    "MassiveGNN without eviction (Sarkar et al., CLUSTER 2024)"};

std::unique_ptr<Policy> make_static_degree(const PolicySpec& spec, const PolicyFacts& facts,
                                           Residents& residents) {
    require(facts.halo_degree.size() == facts.rows->halo(), spec, "the degrees of the halo");
    return std::make_unique<StaticPolicy>(facts, residents, ranking_of(facts.halo_degree));
}

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
