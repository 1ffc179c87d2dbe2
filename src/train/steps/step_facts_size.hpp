// How much travels beside the gradients of a step.
#pragma once

#include <cstddef>

#include "rudder/core/types.hpp"

namespace rudder::train {

/// Floats that are summed after a step's gradients: losses, wishes and paces, and of each rank so
/// many more (GradientLayout::extra).
[[nodiscard]] std::size_t fact_floats(PartId parts, int ranks, std::size_t extra) noexcept;

}  // namespace rudder::train
