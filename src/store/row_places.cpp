#include "row_places.hpp"

#include "partition/share.hpp"

namespace rudder::store {

RowPlaces::RowPlaces(const comm::Communicator& comm, const partition::PartitionBook& book)
    : book_(book), parts_(book.parts()), ranks_(comm.size()) {
    const int here = comm.global_rank(comm.rank());
    for (PartId p = 0; p < book.parts(); ++p) {
        Place& place = parts_[p];
        place.rank = partition::rank_of(p, book.parts(), ranks_);
        place.on_host = comm.hosts().same(here, comm.global_rank(place.rank));
        if (place.rank == comm.rank()) own_.push_back(p);
        if (!place.on_host) continue;
        host_.push_back(p);
        place.host_row = host_rows_;
        host_rows_ += book.range(p).size();
    }
}

std::vector<VertexId> RowPlaces::rank_starts() const {
    std::vector<VertexId> starts;
    for (int r = 0; r < ranks_; ++r)
        starts.push_back(book_.range(partition::share_of(book_.parts(), ranks_, r).first).begin);
    starts.push_back(book_.vertices());
    return starts;
}

}  // namespace rudder::store
