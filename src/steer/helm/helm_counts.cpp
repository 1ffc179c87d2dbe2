#include "helm_counts.hpp"

#include <algorithm>
#include <utility>

#include "shadows.hpp"

namespace rudder::steer {

Rows HelmCounts::step(const Rows& accounts) {
    return accounts - std::exchange(accounts_, accounts);
}

void HelmCounts::timed(const Seconds& seconds, std::span<const std::uint64_t> rows_by_owner) {
    seconds_ += seconds;
    stall_ += seconds.stall;
    rows_by_owner_.resize(std::max(rows_by_owner_.size(), rows_by_owner.size()), 0);
    for (std::size_t r = 0; r < rows_by_owner.size(); ++r)
        rows_by_owner_[r] += rows_by_owner[r];
}

void HelmCounts::elsewhere(Rows rows, Seconds seconds) {
    rows.steps = 0;  // the same steps as those of the buffer here
    seconds.steps = 0;
    others_ += rows;
    all_others_ += rows;
    seconds_ += seconds;
}

double HelmCounts::take_stall() {
    return std::exchange(stall_, 0);
}

void HelmCounts::show(Observation& seen) {
    seen.rows = accounts_ - marked_;
    seen.rows += std::exchange(others_, {});
    seen.total = accounts_;
    seen.total += all_others_;
    seen.rows_by_owner = std::exchange(rows_by_owner_, {});
    seen.seconds = std::exchange(seconds_, {});
    marked_ = accounts_;
}

}  // namespace rudder::steer
