// What a run gives up to stay within --memory: room in the buffer, and steps looked ahead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rudder/train/options.hpp"
#include "rudder/train/trainer.hpp"

namespace rudder::train {

/// Options that need less than these, whose plan is beyond `memory`: a smaller buffer down to a
/// quarter of what was asked for (`share` says what is left of it), then fewer steps ahead, then no
/// buffer. Nothing where neither is left to give.
[[nodiscard]] std::optional<TrainOptions> with_less(const TrainPlan& plan,
                                                    const TrainOptions& options,
                                                    std::uint64_t memory, double& share);

/// A trainer whose plan is within `options.memory`, where that is set.
struct FittedTrainer {
    std::unique_ptr<Trainer> trainer;
    TrainPlan plan;
    TrainOptions options;  ///< as it was made with
    std::string given_up;  ///< what was made smaller; empty: nothing
};
/// Collective: makes trainers with less and less until one fits; the last one where none does.
[[nodiscard]] FittedTrainer make_fitting_trainer(const comm::Communicator& comm,
                                                 const partition::PartitionedDataset& data,
                                                 const TrainOptions& options);

}  // namespace rudder::train
