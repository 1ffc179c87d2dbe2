#include "rudder/partition/book.hpp"

#include <algorithm>
#include <utility>

#include "rudder/core/check.hpp"

namespace rudder::partition {

PartitionBook::PartitionBook(std::vector<VertexId> starts) : starts_(std::move(starts)) {
    RUDDER_CHECK(starts_.size() >= 2 && starts_[0] == 0);
    for (std::size_t p = 1; p < starts_.size(); ++p)
        RUDDER_CHECK(starts_[p - 1] < starts_[p]);
    // About 16 blocks per part, so that few vertices need a second look.
    const VertexId blocks = VertexId{16} * parts();
    while ((vertices() - 1) >> shift_ >= blocks)
        ++shift_;
    PartId p = 0;
    for (VertexId block = 0; block <= (vertices() - 1) >> shift_; ++block) {
        while ((block << shift_) >= starts_[p + std::size_t{1}])
            ++p;
        first_.push_back(p);
    }
}

TypeBook::TypeBook(std::vector<VertexId> starts, std::size_t types)
    : starts_(std::move(starts)), types_(types) {
    RUDDER_CHECK(types_ >= 1 && starts_.size() % types_ == 1 && std::ranges::is_sorted(starts_));
}

}  // namespace rudder::partition
