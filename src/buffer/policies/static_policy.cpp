#include "static_policy.hpp"

#include <algorithm>
#include <numeric>

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

}  // namespace rudder::buffer
