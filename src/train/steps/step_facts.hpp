// What whoever takes steps from a pipeline needs: how far to look ahead, and what to write down.
#pragma once

#include <cstdint>

#include "train/ground.hpp"

#include "pipeline.hpp"

namespace rudder::train {

/// The look-ahead queue of a run that begins with step `first`.
[[nodiscard]] sample::LookAheadOptions look_ahead_of(const Ground& ground, std::uint64_t first);

/// Writes down what a step came to, and how the pipeline is set.
void note_step(const AssembledStep& step, Pipeline& pipeline, StepRecord& record);

}  // namespace rudder::train
