// What one rank of a training run is made of.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "rudder/buffer/trace.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/nn/optimiser.hpp"
#include "rudder/train/trainer.hpp"
#include "sample/neighbour_source.hpp"
#include "train/checkpoints/run_state.hpp"
#include "train/evaluation/evaluator.hpp"
#include "train/evaluation/exact_evaluator.hpp"
#include "train/steps/buffer_setup.hpp"
#include "train/steps/gradient_exchange.hpp"

namespace rudder::train {

class Steering;

/// In the order of construction; what is above must outlive what is below.
struct Trainer::State {
    comm::Communicator comm;
    comm::AccountTotals before;  ///< what was sent and received before this trainer
    const partition::PartitionedDataset& data;
    TrainOptions options;
    partition::PartShare share;
    std::vector<partition::Part> parts;  ///< of this rank
    sample::Schedule schedule;
    std::unique_ptr<sample::NeighbourSource> source;
    store::FeatureStore store;
    BufferSetup buffer;
    nn::Objective objective;
    nn::NetworkOptions network_options;
    std::unique_ptr<nn::Network> network;
    std::unique_ptr<nn::Optimiser> optimiser;
    nn::LearningRateSchedule learning_rate;
    GradientExchange exchange;
    std::unique_ptr<SampledEvaluator> sampled;  ///< one of the two
    std::unique_ptr<ExactEvaluator> exact;
    RunState start;  ///< where the run begins, or goes on
    /// Weights whose evaluation was under way when the run was put down.
    std::vector<float> unevaluated;
    std::vector<float> evaluated;                    ///< the weights under evaluation
    std::unique_ptr<nn::Network> evaluated_network;  ///< with them, where evaluation is sampled
    Scores scores;                                   ///< of them, likewise
    /// None where nobody steers. Made before the run, so that what cannot be is refused before it.
    std::unique_ptr<Steering> steering;

    State(const comm::Communicator& comm, const partition::PartitionedDataset& data,
          const TrainOptions& options);

    [[nodiscard]] sample::SamplerOptions sampler_options() const;
    /// Whether the scores of an epoch (from 0) are wanted.
    [[nodiscard]] bool evaluation_due(std::uint32_t epoch) const noexcept;
    /// Evaluates these weights, beside training.
    void start_evaluation(std::span<const float> weights);
    [[nodiscard]] Scores finish_evaluation();
    /// Memory a host may use, and how many ranks share it.
    [[nodiscard]] std::uint64_t host_memory() const;
    [[nodiscard]] std::uint64_t queue_limit() const;
    /// What the trace says of this run, on ranks that write one.
    [[nodiscard]] std::optional<buffer::TraceHeader> trace_header() const;
    /// Collective: refuses a trace that does not reach where the run goes on.
    void expect_trace() const;
    /// Ends the services of all ranks; nobody may ask any more.
    void stop();
};

}  // namespace rudder::train
