// What follows for a buffer from options and a halo, before anything limits it.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/buffer/policy_spec.hpp"
#include "rudder/core/types.hpp"
#include "rudder/train/options.hpp"

namespace rudder::train {

struct Ground;

/// Rows that the options ask for around a halo of this size.
[[nodiscard]] double rows_asked(const TrainOptions& options, std::uint64_t halo,
                                std::uint64_t row_bytes);
/// Whether a policy wants to know how probable it is that a step needs a row.
[[nodiscard]] bool needs_inclusion(const buffer::PolicySpec& policy);
/// The same for the batches of an own part, by vertex of the graph.
[[nodiscard]] std::vector<double> inclusion_of(const Ground& ground, PartId part);

}  // namespace rudder::train
