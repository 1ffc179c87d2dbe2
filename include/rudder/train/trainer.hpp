// Training: the loop over steps and epochs, on every rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/core/profile.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/options.hpp"
#include "rudder/train/records.hpp"

namespace rudder::train {

/// What steering came to, over all agents.
struct AgentResult {
    steer::HelmTotals totals;
    std::vector<std::string> learned;  ///< what agents have to say at the end
};

/// What a run came to. Complete on rank 0; other ranks know the losses and scores alone.
struct TrainResult {
    bool interrupted = false;
    bool stopped_early = false;
    std::uint64_t resumed_at = 0;  ///< the step it went on from
    std::uint64_t steps = 0;       ///< done, those before included
    std::uint64_t steps_per_epoch = 0;
    std::vector<EpochRecord> epochs;
    std::optional<std::uint32_t> best_epoch;  ///< by validation, the first of equals
    float first_loss = 0;
    float last_loss = 0;
    std::uint64_t digest = 0;

    // Over all ranks.
    double seconds = 0;  ///< of the whole run, evaluation included
    double cpu_seconds = 0;
    double policy_seconds = 0;  ///< of the buffer's bookkeeping, window included
    double pilot_seconds = 0;   ///< of who steers the buffers
    StepSeconds step_seconds;
    AgentResult agent;
    steer::SampleTable samples;  ///< where they were collected, of all buffers
    buffer::RowCounts rows;
    std::uint64_t edges = 0;
    std::array<std::uint64_t, comm::kind_count> bytes{};  ///< received, by kind
    std::uint64_t received_total = 0;
    std::uint64_t sent_total = 0;
    std::uint64_t peak_rss = 0;         ///< the largest rank's
    std::uint64_t in_flight_bytes = 0;  ///< rows of assembled steps, and on their way to the buffer
    std::uint64_t buffer_bytes = 0;     ///< of the slots
    std::uint64_t capacity = 0;         ///< rows that fit in them
    std::optional<std::uint64_t> floor{};  ///< rows the best possible policy would have fetched
    std::uint64_t row_bytes = 0;           ///< of one row on the wire
    std::string topology;                  ///< as chosen
};

/// Whether the epoch is one of those that are evaluated.
[[nodiscard]] bool evaluation_due(const TrainOptions& options, std::uint32_t epoch) noexcept;

/// Watches a run on rank 0.
class TrainObserver {
public:
    virtual ~TrainObserver() = default;
    /// After every step, of rank 0 alone.
    virtual void step_done(const StepRecord& /*record*/, std::uint64_t /*steps*/) {}
    /// Every so often: the steps of all ranks since the last time, in the order of step and rank.
    virtual void records(std::span<const StepRecord> /*records*/) {}
    /// Along with the records: decisions of agents whose outcome is known by now.
    virtual void decisions(std::span<const DecisionLine> /*lines*/) {}
    /// Once its evaluation is known, which may be an epoch later.
    virtual void epoch_done(const EpochRecord& /*record*/, std::uint32_t /*epochs*/) {}
    /// What all ranks did during the epoch that was to be profiled.
    virtual void profile(const RunProfile& /*profile*/) {}
    /// How long metrics.jsonl is with the steps recorded so far.
    [[nodiscard]] virtual std::uint64_t metrics_bytes() const { return 0; }
};

class CheckpointKeeper;
struct Checkpoint;

/// Where checkpoints of a run go, and when.
struct CheckpointPlan {
    std::uint32_t every_epochs = 0;      ///< 0: not by epochs
    double every_seconds = 0;            ///< 0: not by the clock
    CheckpointKeeper* keeper = nullptr;  ///< on rank 0; elsewhere null
    bool wanted = false;                 ///< the same on all ranks
    std::string data;                    ///< what identifies the data set
    std::string data_checksum;
};

/// What a run will need, as far as can be told before it.
struct TrainPlan {
    std::uint64_t steps_per_epoch = 0;
    std::uint64_t parameters = 0;
    std::string topology;
    // Bytes on the host that needs most.
    std::uint64_t topology_bytes = 0;
    std::uint64_t store_bytes = 0;
    std::uint64_t network_bytes = 0;    ///< weights, gradients, optimiser, activations
    std::uint64_t in_flight_bytes = 0;  ///< rows of assembled steps
    std::uint64_t buffer_bytes = 0;
    std::uint64_t queue_bytes = 0;       ///< batches sampled ahead
    std::uint64_t evaluation_bytes = 0;  ///< exact evaluation beside training
    std::uint64_t memory_bytes = 0;      ///< that the host has, or may use
    // Per epoch, over all ranks, estimated from a few steps.
    double rows = 0;
    double remote_rows = 0;
    double feature_bytes = 0;
    double gradient_bytes = 0;

    [[nodiscard]] std::uint64_t needed_bytes() const noexcept {
        return topology_bytes + store_bytes + network_bytes + in_flight_bytes + buffer_bytes +
               queue_bytes + evaluation_bytes;
    }
};

/// One rank of a training run. All of it is collective.
class Trainer {
public:
    /// Opens this rank's parts, agrees with the others on the schedule, and builds the network.
    /// `data` must outlive it.
    Trainer(const comm::Communicator& comm, const partition::PartitionedDataset& data,
            const TrainOptions& options);
    ~Trainer();
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    /// What the run would need; the same on all ranks.
    [[nodiscard]] TrainPlan plan();
    /// Goes on from a checkpoint (given on rank 0, null elsewhere); before `run`. Another model is
    /// refused, and so is a trace to be gone on with that does not reach the checkpoint.
    void resume(const Checkpoint* checkpoint);
    /// Trains to the end, or to the step at which all ranks agree to stop after an interrupt, and
    /// writes a checkpoint there. A loss that is no number is an Error that names step and rank.
    TrainResult run(TrainObserver& observer, const CheckpointPlan& checkpoints = {});

    [[nodiscard]] std::uint64_t steps_per_epoch() const noexcept;
    /// What its network was made from.
    [[nodiscard]] const nn::NetworkOptions& network_options() const noexcept;
    /// The weights, the same on all ranks.
    [[nodiscard]] std::span<const float> weights() const;

    struct State;

private:
    std::unique_ptr<State> state_;
};

}  // namespace rudder::train
