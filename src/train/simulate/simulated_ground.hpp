// What all ranks of a simulation stand on: one copy of the graph, its schedule and the network's
// shape.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/options.hpp"
#include "sample/batch_sampler.hpp"
#include "train/ground.hpp"
#include "train/learner.hpp"
#include "train/steps/buffer_size.hpp"

#include "cluster_model.hpp"
#include "sum_bytes.hpp"

namespace rudder::train {

/// What a network computes on a batch.
struct BatchWork {
    double flops = 0;
    double aggregate_bytes = 0;
};

/// Opens the data as one rank that holds all parts; the ranks of the simulation are numbers. What
/// cannot be simulated is refused (usage Error): topology that is spread over ranks, messages that
/// are coded, batches of links, edges with times, several types.
class SimulatedGround {
public:
    /// `steps`: to be taken, at most; 0: all of the epochs.
    SimulatedGround(const partition::PartitionedDataset& data, const TrainOptions& options,
                    const ClusterModel& cluster, std::uint64_t steps);

    [[nodiscard]] const TrainOptions& options() const noexcept { return ground_.options; }
    [[nodiscard]] const ClusterModel& cluster() const noexcept { return cluster_; }
    [[nodiscard]] const partition::PartitionedDataset& data() const noexcept {
        return ground_.data;
    }
    [[nodiscard]] const sample::Schedule& schedule() const noexcept { return ground_.schedule; }
    [[nodiscard]] graph::TopologyView topology() const { return ground_.source->topology(); }
    [[nodiscard]] std::uint64_t row_bytes() const { return ground_.store.format().row_bytes(); }
    [[nodiscard]] bool sparse() const { return ground_.store.format().sparse() != nullptr; }
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
    [[nodiscard]] const std::vector<partition::Part>& parts() const noexcept {
        return ground_.parts;
    }
    /// Own parts of a rank.
    [[nodiscard]] partition::PartShare share(int rank) const;
    /// The rank that holds a vertex, and the first vertex of a rank.
    [[nodiscard]] int owner(VertexId v) const noexcept {
        return rank_of_part_[ground_.data.book().owner(v)];
    }
    [[nodiscard]] VertexId first_vertex(int rank) const;

    /// As train::inclusion_of.
    [[nodiscard]] std::vector<double> inclusion(PartId part) const {
        return inclusion_of(ground_, part);
    }
    [[nodiscard]] BatchWork work_of(const sample::Batch& batch) const;
    [[nodiscard]] const SumBytes& sums() const noexcept { return sums_; }
    [[nodiscard]] std::uint64_t parameters() const { return parameters_; }
    /// Bytes that ranks receive before the first step to have the topology on every host.
    [[nodiscard]] std::uint64_t placement_bytes() const;

    /// A sampler with its memory, for as long as it is held; any thread.
    class Sampler {
    public:
        explicit Sampler(const SimulatedGround& ground);
        ~Sampler();
        Sampler(Sampler&&) = delete;
        [[nodiscard]] sample::BatchSampler& operator*() noexcept { return *held_; }
        sample::Batch batch{};

    private:
        const SimulatedGround& ground_;
        std::unique_ptr<sample::BatchSampler> held_;
    };

private:
    [[nodiscard]] SumBytes find_sums();

    Ground ground_;
    ClusterModel cluster_;
    std::uint64_t steps_;
    std::vector<int> rank_of_part_;
    std::vector<std::uint64_t> widths_;  ///< columns before the first layer and after each
    std::uint64_t parameters_ = 0;
    SumBytes sums_;
    mutable std::mutex mutex_;  ///< guards what follows
    mutable std::vector<std::unique_ptr<sample::BatchSampler>> idle_;
};

}  // namespace rudder::train
