#include "share.hpp"

#include <string>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::partition {

PartShare share_of(PartId parts, int ranks, int rank) {
    const PartId each = parts / static_cast<PartId>(ranks);
    const PartId first = each * static_cast<PartId>(rank);
    return {first, first + each};
}

void check_ranks(int ranks, PartId parts) {
    if (parts == 0 || parts % static_cast<PartId>(ranks) == 0) return;
    std::string fitting;
    for (PartId n = 1; n <= parts; ++n) {
        if (parts % n == 0) fitting += fmt::format("{}{}", fitting.empty() ? "" : ", ", n);
    }
    throw usage_error(
        fmt::format("{} ranks cannot share {} parts evenly", ranks, parts), "--ranks",
        fmt::format("use {} ranks, or partition into another number of parts", fitting));
}

int rank_of(PartId p, PartId parts, int ranks) noexcept {
    return static_cast<int>(p / (parts / static_cast<PartId>(ranks)));
}

}  // namespace rudder::partition
