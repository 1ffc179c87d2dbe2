// Mending what a method leaves: parts without a vertex, and parts over their limits.
#pragma once

#include "loads.hpp"

namespace rudder::partition {

/// Gives every empty part a vertex, taken from parts that have more, least connected first.
void fill_empty_parts(const PartitionInput& input, std::span<PartId> parts, Loads& loads);

/// Moves vertices out of parts that exceed a limit, those first that add least to the cut, as long
/// as what exceeds the limits shrinks. `loads` are those of `parts`, and stay so.
void repair_balance(const PartitionInput& input, std::span<PartId> parts, Loads& loads);

/// Both, and a warning for each limit that is still exceeded.
[[nodiscard]] Assignment finish_assignment(const PartitionInput& input,
                                           const PartitionOptions& options, Array<PartId> parts);

}  // namespace rudder::partition
