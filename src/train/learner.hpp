// What learns: the network, its optimiser and the learning rate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nn/gpu/device.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/nn/optimiser.hpp"
#include "train/checkpoints/trained_on.hpp"
#include "train/ground.hpp"

namespace rudder::train {

struct Checkpoint;

/// The same weights on all ranks, after every update.
class Learner {
public:
    /// Collective.
    explicit Learner(const Ground& ground);

    [[nodiscard]] nn::Network& network() noexcept { return *network_; }
    [[nodiscard]] const nn::NetworkOptions& options() const noexcept { return options_; }
    [[nodiscard]] bool regression() const noexcept {
        return options_.objective == nn::Objective::regression;
    }
    [[nodiscard]] std::span<const float> weights() const { return network_->weights(); }
    [[nodiscard]] const nn::LearningRateSchedule& learning_rate() const noexcept {
        return learning_rate_;
    }

    /// What to keep of the data set.
    [[nodiscard]] TrainedOn trained_on() const;
    /// Where each weight lies.
    [[nodiscard]] std::vector<nn::Parameter> parameters() const;

    /// The learning rate of a step; `factor` comes on top of the schedule's.
    [[nodiscard]] double rate(std::uint64_t step, double factor) const;
    /// After step `step`, by the gradient of all parts.
    void update(std::uint64_t step, std::span<float> gradient, double factor);

    /// Copies weights and the optimiser's memory, on all threads: training stands still meanwhile.
    void save(Checkpoint& checkpoint) const;
    /// Collective: goes on from what was saved (given on rank 0, null elsewhere).
    void restore(const Checkpoint* checkpoint);

    /// What computes, if it is not the processor.
    [[nodiscard]] nn::Device* device() const noexcept { return device_.get(); }

private:
    const Ground& ground_;
    nn::NetworkOptions options_;
    std::shared_ptr<nn::Device> device_;  ///< null: the processor
    std::unique_ptr<nn::Network> network_;
    std::unique_ptr<nn::Optimiser> optimiser_;
    nn::LearningRateSchedule learning_rate_;
};

}  // namespace rudder::train
