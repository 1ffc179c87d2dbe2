#include "carried_part.hpp"

#include <algorithm>
#include <vector>

#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::sample {

CarriedPart::CarriedPart(const partition::Part& part, const RowsView& rows, SourceCarries carries)
    : neighbours_(rows.neighbours) {
    const bool own = rows.neighbours.data() == part.neighbours().data();
    RUDDER_CHECK(own || (!carries.weights && !carries.times));
    const graph::EdgeData data = part.edge_data();
    RUDDER_CHECK(!carries.weights || part.info().edge_weight);
    RUDDER_CHECK(!carries.times || part.info().edge_time);
    if (carries.weights) weights_ = data.weight;
    if (carries.times) order_by_time(part, carries.weights);
}

void CarriedPart::order_by_time(const partition::Part& part, bool weights) {
    constexpr std::size_t rows_per_chunk = 1 << 12;
    const graph::EdgeData data = part.edge_data();
    own_neighbours_ = Array<LocalId>::uninitialised(neighbours_.size());
    own_times_ = Array<std::int64_t>::uninitialised(neighbours_.size());
    if (weights) own_weights_ = Array<float>::uninitialised(neighbours_.size());
    parallel_chunks(part.own(), rows_per_chunk, [&](const Chunk& chunk) {
        std::vector<EdgeIndex> order;
        for (std::size_t v = chunk.begin; v < chunk.end; ++v) {
            const EdgeIndex begin = part.offsets()[v];
            order.clear();
            for (EdgeIndex e = begin; e < part.offsets()[v + 1]; ++e)
                order.push_back(e);
            std::ranges::stable_sort(order, {}, [&](EdgeIndex e) { return data.time[e]; });
            for (std::size_t i = 0; i < order.size(); ++i) {
                own_neighbours_[begin + i] = neighbours_[order[i]];
                own_times_[begin + i] = data.time[order[i]];
                if (weights) own_weights_[begin + i] = data.weight[order[i]];
            }
        }
    });
    neighbours_ = own_neighbours_.span();
    times_ = own_times_.span();
    if (weights) weights_ = own_weights_.span();
}

}  // namespace rudder::sample
