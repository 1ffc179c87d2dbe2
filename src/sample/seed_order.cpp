
#include "schedule.hpp"

namespace rudder::sample {

std::string_view to_string(SeedOrder order) noexcept {
    return order == SeedOrder::random ? "random" : "clustered";
}

SeedOrder seed_order(std::string_view name) {
    for (const SeedOrder order : {SeedOrder::random, SeedOrder::clustered}) {
        if (name == to_string(order)) return order;
    }
    throw usage_error("unknown order of seeds '" + std::string(name) + "'", "",
                      "choose one of: random, clustered");
}

}  // namespace rudder::sample
