#include "carried_part.hpp"

#include <algorithm>
#include <vector>

#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::sample {

CarriedPart::CarriedPart(const partition::Part& part, const RowsView& rows, SourceCarries carries)
    : neighbours_(rows.neighbours) {
    const bool own = rows.neighbours.data() == part.neighbours().data();
    const bool features = carries.features.present();
    RUDDER_CHECK(own || (!carries.weights && !carries.times && !features));
    const graph::EdgeData data = part.edge_data();
    RUDDER_CHECK(!carries.weights || part.info().edge_weight);
    RUDDER_CHECK(!carries.times || part.info().edge_time);
    RUDDER_CHECK(!carries.types || part.info().types.present());
    RUDDER_CHECK(carries.features.row_bytes() == (features ? data.features.info.row_bytes() : 0));
    if (carries.weights) weights_ = data.weight;
    if (features) features_ = data.features.bytes();
    RUDDER_CHECK(!carries.types || rows.types.size() == rows.neighbours.size());
    if (carries.times || carries.types) order(part, rows, carries);
}

void CarriedPart::order(const partition::Part& part, const RowsView& rows, SourceCarries carries) {
    constexpr std::size_t rows_per_chunk = 1 << 12;
    const graph::EdgeData data = part.edge_data();
    const std::size_t edges = neighbours_.size();
    own_neighbours_ = Array<LocalId>::uninitialised(edges);
    if (carries.times) own_times_ = Array<std::int64_t>::uninitialised(edges);
    if (carries.types) own_types_ = Array<std::uint8_t>::uninitialised(edges);
    if (carries.weights) own_weights_ = Array<float>::uninitialised(edges);
    const std::size_t row_bytes = carries.features.row_bytes();
    own_features_ = Array<std::byte>::uninitialised(edges * row_bytes);
    const auto before = [&](EdgeIndex a, EdgeIndex b) {
        if (carries.types && rows.types[a] != rows.types[b]) return rows.types[a] < rows.types[b];
        return carries.times && data.time[a] < data.time[b];
    };
    parallel_chunks(part.own(), rows_per_chunk, [&](const Chunk& chunk) {
        std::vector<EdgeIndex> order;
        for (std::size_t v = chunk.begin; v < chunk.end; ++v) {
            const EdgeIndex begin = rows.offsets[v];
            order.clear();
            for (EdgeIndex e = begin; e < rows.offsets[v + 1]; ++e)
                order.push_back(e);
            std::ranges::stable_sort(order, before);
            for (std::size_t i = 0; i < order.size(); ++i) {
                own_neighbours_[begin + i] = neighbours_[order[i]];
                if (carries.times) own_times_[begin + i] = data.time[order[i]];
                if (carries.types) own_types_[begin + i] = rows.types[order[i]];
                if (carries.weights) own_weights_[begin + i] = data.weight[order[i]];
                std::copy_n(features_.data() + order[i] * row_bytes, row_bytes,
                            own_features_.data() + (begin + i) * row_bytes);
            }
        }
    });
    neighbours_ = own_neighbours_.span();
    times_ = own_times_.span();
    types_ = own_types_.span();
    if (carries.weights) weights_ = own_weights_.span();
    features_ = own_features_.span();
}

}  // namespace rudder::sample
