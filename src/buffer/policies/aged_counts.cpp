#include "aged_counts.hpp"

namespace rudder::buffer {

double AgedCounts::step() {
    constexpr double limit = 0x1p+400;
    constexpr double factor = 0x1p-400;
    weight_ *= growth_;
    if (weight_ < limit) return 1;
    weight_ *= factor;
    for (double& count : counts_)
        count *= factor;
    return factor;
}

}  // namespace rudder::buffer
