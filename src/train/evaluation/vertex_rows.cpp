#include "vertex_rows.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace rudder::train {

VertexRows::VertexRows(const comm::Communicator& comm, const RankRanges& ranges,
                       std::span<const float> own, std::size_t columns)
    : comm_(comm), ranges_(ranges), own_(own), columns_(columns) {
    if (comm.size() == 1) return;
    exchange_ = std::make_unique<store::RowExchange>(
        comm, comm::channel_of(comm::Talk::even_layer_rows),
        store::RowExchange::Layout{ranges.starts, columns * sizeof(float)},
        [this](std::span<const VertexId> vertices, std::byte* out) {
            for (const VertexId v : vertices) {
                std::memcpy(out, own_row(v), columns_ * sizeof(float));
                out += columns_ * sizeof(float);
            }
        });
    comm.barrier();  // whoever asks is answered
}

void VertexRows::gather(std::span<const VertexId> ids, const std::shared_ptr<Array<float>>& memory,
                        std::size_t first) const {
    const std::span<float> rows = memory->span().subspan(first * columns_, ids.size() * columns_);
    std::vector<store::FetchRun> runs;
    for (std::size_t at = 0; at < ids.size();) {
        const auto after = std::ranges::upper_bound(ranges_.starts, ids[at]);
        const auto end = static_cast<std::size_t>(
            std::lower_bound(ids.begin() + static_cast<std::ptrdiff_t>(at), ids.end(), *after) -
            ids.begin());
        const int owner = static_cast<int>(after - ranges_.starts.begin()) - 1;
        const std::span<float> some = rows.subspan(at * columns_, (end - at) * columns_);
        if (owner == ranges_.rank) {
            for (std::size_t i = at; i < end; ++i)
                std::copy_n(own_row(ids[i]), columns_, some.data() + (i - at) * columns_);
        } else {
            runs.push_back({owner, ids.subspan(at, end - at), std::as_writable_bytes(some)});
        }
        at = end;
    }
    if (runs.empty()) return;
    store::RemoteFetch fetch = exchange_->fetch(runs, comm::Kind::evaluation);
    fetch.keep(memory);
    fetch.wait();
}

void VertexRows::stop() {
    if (exchange_ == nullptr) return;
    comm_.barrier();
    exchange_->stop();
}

}  // namespace rudder::train
