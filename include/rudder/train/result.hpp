// What a training run came to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rudder/nn/network.hpp"
#include "rudder/steer/helm_totals.hpp"
#include "rudder/train/records.hpp"

namespace rudder::steer {
struct SampleTable;
}

namespace rudder::train {

/// What steering came to, over all agents.
struct AgentResult {
    steer::HelmTotals totals;
    std::vector<std::string> learned;       ///< what agents have to say at the end
    std::optional<steer::Regret> regret{};  ///< over all buffers
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
    Seconds step_seconds;
    AgentResult agent;
    std::shared_ptr<steer::SampleTable> samples;  ///< of all buffers; null: none collected
    Rows rows;
    std::uint64_t learned = 0;  ///< of rows.demand
    std::uint64_t edges = 0;
    comm::Bytes bytes;  ///< received
    std::optional<comm::CodingTotals>
        coding;  ///< since the last start, where messages may be coded
    std::uint64_t received_total = 0;
    std::uint64_t sent_total = 0;
    std::uint64_t peak_rss = 0;         ///< the largest rank's
    std::uint64_t in_flight_bytes = 0;  ///< rows of assembled steps, and on their way to the buffer
    std::uint64_t buffer_bytes = 0;     ///< of the slots
    std::uint64_t capacity = 0;         ///< rows that fit in them
    /// As the first rank's buffer began: a window that was not given has its length.
    std::optional<buffer::PolicySpec> policy;
    std::optional<std::uint64_t> floor{};  ///< rows the best possible policy would have fetched
    std::uint64_t row_bytes = 0;           ///< of one row on the wire
    bool sparse = false;                   ///< rows are their non-zeros
    std::string topology;                  ///< as chosen
    std::string device;                    ///< of the first rank; empty: the processor
    nn::DeviceTimes device_times;          ///< over all ranks, since the last start
};

}  // namespace rudder::train
