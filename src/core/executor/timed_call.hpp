// A call that is due at some time, for the executors' queues of timers.
#pragma once

#include <cstdint>
#include <functional>

#include "executor.hpp"

namespace rudder {

struct TimedCall {
    Duration when;
    std::uint64_t order;
    std::function<void()> call;
    friend bool operator<(const TimedCall& a, const TimedCall& b) {
        return a.when != b.when ? a.when > b.when : a.order > b.order;  // earliest on top
    }
};

}  // namespace rudder
