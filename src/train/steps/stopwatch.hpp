// Seconds on the executor's clock.
#pragma once

#include <chrono>

#include "core/executor/executor.hpp"

namespace rudder::train {

class Stopwatch {
public:
    Stopwatch() : start_(Executor::current().now()) {}
    /// Seconds since the start or the last lap; laps leave no time out.
    double lap() { return lap(Executor::current().now()); }
    /// The same at a moment that others share.
    double lap(Duration now) {
        const double seconds = std::chrono::duration<double>(now - start_).count();
        start_ = now;
        return seconds;
    }
    [[nodiscard]] double passed() const {
        return std::chrono::duration<double>(Executor::current().now() - start_).count();
    }

private:
    Duration start_;
};

}  // namespace rudder::train
