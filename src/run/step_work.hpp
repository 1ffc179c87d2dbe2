// What a mean step of training has to do on a partition, and how long a machine profile says it
// takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine_profile.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/sample/batch.hpp"
#include "rudder/store/precision.hpp"

namespace rudder::run {

/// A run that is planned: model sage, sampler shared, policy window; one part on each rank.
struct PlannedRun {
    std::vector<std::int32_t> fanout{10, 25};
    std::uint64_t batch = 0;  ///< 0: as the partition asks
    std::uint64_t hidden = 256;
    double buffer = 0.25;  ///< rows kept, as a fraction of a host's halo
    std::uint64_t window = 16;
    store::Precision precision = store::Precision::native;
    std::uint64_t ranks_per_host = 1;
};

/// The arithmetic of a batch: multiplications and additions of matrix products, and bytes of rows
/// that are read for means; forward and backward, of model sage.
struct NetworkWork {
    double flops = 0;
    double mean_bytes = 0;
};
[[nodiscard]] NetworkWork network_work(const sample::Batch& batch, std::uint64_t inputs,
                                       std::uint64_t hidden, std::uint64_t outputs);

/// What a mean step takes, of a mean rank.
struct StepWork {
    std::uint64_t ranks = 1;
    std::uint64_t hosts = 1;
    std::uint64_t steps_per_epoch = 0;
    std::uint64_t batch = 0;
    double edges = 0;           ///< neighbours drawn
    double rows = 0;            ///< input rows
    double remote = 0;          ///< distinct rows of other hosts that its host needs, its share
    double fetched = 0;         ///< of those, and ahead of need: rows that travel
    double fetched_double = 0;  ///< with a buffer of twice the size
    double input_bytes = 0;     ///< of the input rows, assembled
    double row_bytes = 0;       ///< of a row on the wire
    double gradient_bytes = 0;  ///< of the whole gradient
    NetworkWork network{};
};

/// Samples some steps of up to four hosts of the run, and runs its policy over them on ids alone;
/// figures are of the second half of these steps, so that buffers are filled. Opens all parts.
[[nodiscard]] StepWork step_work(const partition::PartitionedDataset& data, const PlannedRun& run);
/// Bytes of one row on the wire.
[[nodiscard]] double wire_row_bytes(const graph::FeatureInfo& stored, store::Precision precision);

/// The times of a mean step, in seconds.
struct StepEstimate {
    double sampling = 0;   ///< drawing neighbours
    double gathering = 0;  ///< input rows brought together
    double policy = 0;     ///< what the buffer keeps
    double network = 0;    ///< products and means
    double rows = 0;       ///< rows of other hosts on the wire, beside all that
    double gradients = 0;  ///< their sum over all ranks, after that

    [[nodiscard]] double processor() const { return sampling + gathering + policy + network; }
    /// The processor's work and the rows' way go on side by side; gradients follow.
    [[nodiscard]] double step() const {
        return (processor() > rows ? processor() : rows) + gradients;
    }
    /// What a step would be shorter without: the name of the largest part.
    [[nodiscard]] std::string_view limit() const;
};

/// With so many threads per rank.
[[nodiscard]] StepEstimate estimate_step(const StepWork& work, const MachineProfile& profile,
                                         std::uint64_t threads);

/// A setting, and a step with it.
struct Advice {
    std::string setting;  ///< "--precision int8"
    std::string reason;
    StepEstimate estimate;
};
/// Settings that shorten the estimate by 3 % or more, the best first; each alone.
[[nodiscard]] std::vector<Advice> advise(const StepWork& work, const PlannedRun& run,
                                         const graph::FeatureInfo& features,
                                         const MachineProfile& profile, std::uint64_t threads);

}  // namespace rudder::run
