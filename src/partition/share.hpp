// Which parts a rank holds.
#pragma once

#include "rudder/core/types.hpp"

namespace rudder::partition {

/// The parts that a rank holds: an equal, contiguous share.
struct PartShare {
    PartId first = 0;
    PartId last = 0;  ///< one past

    [[nodiscard]] PartId size() const noexcept { return last - first; }
    [[nodiscard]] bool contains(PartId p) const noexcept { return p >= first && p < last; }
};
[[nodiscard]] PartShare share_of(PartId parts, int ranks, int rank);
/// The rank that holds part p.
[[nodiscard]] int rank_of(PartId p, PartId parts, int ranks) noexcept;

/// Refuses (usage Error) a number of ranks that does not divide the parts, naming those that do.
void check_ranks(int ranks, PartId parts);

}  // namespace rudder::partition
