// A training run on a cluster that is a model: the real schedule, sampler, policies and agents on
// ids, a clock instead of waiting, and no rows.
#pragma once

#include <cstdint>
#include <memory>

#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/observer.hpp"
#include "rudder/train/options.hpp"
#include "rudder/train/result.hpp"

#include "cluster_model.hpp"

namespace rudder::train {

/// A usage Error that names the option for what cannot be simulated.
void check_simulated(const TrainOptions& options);

/// What a simulated run came to beside what any run does.
struct Simulated {
    TrainResult result;
    /// Bytes of rows that hosts receive: the largest over the mean.
    double receive_skew = 1;
};

/// Rows and bytes of rows, questions, topology and gradients are those that train has with the same
/// options on such ranks, if neither the clock nor an agent has a say in what is fetched. There are
/// no losses and no scores. Nothing depends on the number of threads, which share the ranks' work.
class Simulation {
public:
    /// `data` must outlive it. `steps`: at most; 0: all epochs. A usage Error for what cannot be
    /// simulated.
    Simulation(const partition::PartitionedDataset& data, const TrainOptions& options,
               const ClusterModel& cluster, std::uint64_t steps = 0);
    ~Simulation();

    [[nodiscard]] std::uint64_t steps() const noexcept;
    [[nodiscard]] std::uint64_t steps_per_epoch() const noexcept;
    /// As the first rank's buffer begins.
    [[nodiscard]] const buffer::PolicySpec& policy() const noexcept;
    /// Once. The observer is told of steps as by a trainer on rank 0.
    [[nodiscard]] Simulated run(TrainObserver& observer);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::train
