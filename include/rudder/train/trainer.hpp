// Training: the loop over steps and epochs, on every rank.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rudder/comm/communicator.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/observer.hpp"
#include "rudder/train/options.hpp"
#include "rudder/train/result.hpp"

namespace rudder::train {

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
    std::uint64_t network_bytes = 0;      ///< weights, gradients, optimiser, activations
    std::uint64_t in_flight_bytes = 0;    ///< rows of assembled steps
    std::uint64_t buffer_bytes = 0;       ///< rows it has room for
    std::uint64_t bookkeeping_bytes = 0;  ///< of the buffer, beside them
    std::uint64_t queue_bytes = 0;        ///< batches sampled ahead
    std::uint64_t queue_asked_bytes = 0;  ///< that they would take without a limit
    std::uint64_t evaluation_bytes = 0;   ///< exact evaluation beside training
    std::uint64_t memory_bytes = 0;       ///< that the host has, or may use
    std::uint64_t device_bytes = 0;       ///< on GPUs, beside all these
    // What they are made of, on that host.
    std::uint64_t remote_vertices = 0;  ///< rows that its buffers may ever be asked for
    std::uint64_t edges_ahead = 0;      ///< of the batches sampled ahead
    // Per epoch, over all ranks, estimated from a few steps.
    double rows = 0;
    double remote_rows = 0;
    double feature_bytes = 0;
    double gradient_bytes = 0;
    bool coded = false;  ///< messages may be coded: the bytes are those before

    [[nodiscard]] std::uint64_t needed_bytes() const noexcept {
        return topology_bytes + store_bytes + network_bytes + in_flight_bytes + buffer_bytes +
               bookkeeping_bytes + queue_bytes + evaluation_bytes;
    }
    /// Bookkeeping of a remote row, and what one edge of a sampled batch takes.
    [[nodiscard]] double bytes_per_remote_row() const noexcept {
        return remote_vertices == 0
                   ? 0
                   : static_cast<double>(bookkeeping_bytes) / static_cast<double>(remote_vertices);
    }
    [[nodiscard]] double bytes_per_edge() const noexcept {
        return edges_ahead == 0
                   ? 0
                   : static_cast<double>(queue_bytes) / static_cast<double>(edges_ahead);
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

    /// What the run would need; the same on all ranks.
    [[nodiscard]] TrainPlan plan();
    /// Goes on from a checkpoint (given on rank 0, null elsewhere); before `run`. Another model is
    /// refused, and so is a trace to be gone on with that does not reach the checkpoint.
    void resume(const Checkpoint* checkpoint);
    /// Trains to the end, or to the step at which all ranks agree to stop after an interrupt, and
    /// writes a checkpoint there. A loss that is no number is an Error that names step and rank.
    TrainResult run(TrainObserver& observer, const CheckpointPlan& checkpoints = {});

    [[nodiscard]] std::uint64_t steps_per_epoch() const noexcept;
    /// As this rank's buffer begins: a window that was not given has its length.
    [[nodiscard]] const buffer::PolicySpec& policy() const noexcept;
    /// What its network was made from.
    [[nodiscard]] const nn::NetworkOptions& network_options() const noexcept;
    /// The weights, the same on all ranks.
    [[nodiscard]] std::span<const float> weights() const;

    struct State;

private:
    std::unique_ptr<State> state_;
};

}  // namespace rudder::train
