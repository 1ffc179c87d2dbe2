// Changes that the agent made: when, on which ranks, and the rows before and after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/run_data.hpp"

namespace rudder::report {

/// One change, made at about the same time by one rank or several.
struct Switch {
    std::uint64_t step = 0;  ///< the first at which it held
    std::string action;
    std::vector<std::uint32_t> ranks;  ///< ascending
    bool undone = false;
    double effect = 0;  ///< rows per step against the alternative, at most
    /// Rows that these ranks fetched per step since the change before, and until the next.
    std::optional<double> before, after;
};

/// The changes of a run in their order. What ranks did alike within a fiftieth of the run is one.
[[nodiscard]] std::vector<Switch> switches_of(const RunData& run);

/// "rank 2", "ranks 0, 1 and 3"; of many, how many.
[[nodiscard]] std::string ranks_text(const std::vector<std::uint32_t>& ranks);

}  // namespace rudder::report
