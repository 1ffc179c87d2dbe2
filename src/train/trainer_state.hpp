// What one rank of a training run is made of.
#pragma once

#include <memory>
#include <vector>

#include "rudder/train/trainer.hpp"
#include "train/checkpoints/run_state.hpp"
#include "train/evaluation/evaluation.hpp"
#include "train/ground.hpp"
#include "train/learned/row_learner.hpp"
#include "train/learner.hpp"
#include "train/steps/buffer_setup.hpp"
#include "train/steps/gradient_exchange.hpp"
#include "train/steps/steering.hpp"

namespace rudder::train {

/// In the order of construction; what is above must outlive what is below.
struct Trainer::State {
    Ground ground;
    BufferSetup buffer;
    Learner learner;
    std::unique_ptr<RowLearner> rows;  ///< null: none are learned
    GradientExchange exchange;
    /// None where nobody steers. Made before the run, so that what cannot be is refused before it.
    std::unique_ptr<Steering> steering;
    Evaluation evaluation;
    RunState start;  ///< where the run begins, or goes on
    /// Weights whose evaluation was under way when the run was put down.
    std::vector<float> unevaluated;

    State(const comm::Communicator& comm, const partition::PartitionedDataset& data,
          const TrainOptions& options);
};

}  // namespace rudder::train
