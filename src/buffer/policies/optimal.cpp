// optimal: the floor.
#include "policies.hpp"
#include "window_policy.hpp"

namespace rudder::buffer {

const PolicyInfo optimal_info{{"optimal",
                               "Knows the whole trace and keeps the rows with the nearest next "
                               "use: no policy fetches fewer."},
                              "Belady (IBM Systems Journal 1966), with bypass"};

std::unique_ptr<Policy> make_optimal(const PolicySpec& /*spec*/, const PolicyFacts& facts,
                                     Residents& residents) {
    return std::make_unique<WindowPolicy>(facts, residents, WindowRules{whole_trace, 0, 1, false});
}

}  // namespace rudder::buffer
