// The sum of everyone's number, for tests and benchmarks that close accounts over all ranks.
#pragma once

#include <cstdint>

#include "rudder/comm/communicator.hpp"

namespace rudder::test {

[[nodiscard]] inline std::int64_t all_sum(const comm::Communicator& comm, std::int64_t value) {
    std::int64_t sum = 0;
    for (const auto& values : comm.all_gather(std::span<const std::int64_t>(&value, 1)))
        sum += values.front();
    return sum;
}

}  // namespace rudder::test
