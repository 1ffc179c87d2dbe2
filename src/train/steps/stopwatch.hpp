// Seconds on the executor's clock.
#pragma once

#include <chrono>

#include "core/executor/executor.hpp"

namespace rudder::train {

class Stopwatch {
public:
    Stopwatch() : start_(Executor::current().now()) {}
    /// Seconds since the start or the last lap.
    double lap() {
        const double seconds = passed();
        start_ = Executor::current().now();
        return seconds;
    }
    [[nodiscard]] double passed() const {
        return std::chrono::duration<double>(Executor::current().now() - start_).count();
    }

private:
    Duration start_;
};

}  // namespace rudder::train
