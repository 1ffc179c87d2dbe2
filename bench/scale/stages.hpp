// What the stages of bench-scale share: their settings, the data set they run on, and how they
// answer.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rudder/partition/partitioned_dataset.hpp"
#include "sample/neighbour_source.hpp"
#include "sample/sampler.hpp"
#include "sample/schedule.hpp"

namespace rudder::bench {

/// Of one stage.
struct StageSettings {
    std::filesystem::path parts;  ///< a partitioned data set
    int threads = 1;
    int rounds = 5;              ///< each figure is a median of so many, sides in turns
    std::uint64_t batch = 1000;  ///< seeds per part and step
    std::uint64_t steps = 8;     ///< of training that are sampled
};

/// A stage's figures by name, in the order they are printed.
using StageFigures = std::vector<std::pair<std::string, double>>;

/// The largest of some ratios over the least: how far their rounds agree.
[[nodiscard]] inline double spread(const std::vector<double>& ratios) {
    const auto [least, most] = std::ranges::minmax(ratios);
    return most / least;
}

/// Steps of training as one process samples them that holds all parts.
class SampledSteps {
public:
    explicit SampledSteps(const StageSettings& settings);

    [[nodiscard]] const partition::PartitionedDataset& data() const { return data_; }
    [[nodiscard]] const std::vector<partition::Part>& parts() const { return parts_; }
    [[nodiscard]] const sample::NeighbourSource& source() const { return *source_; }
    [[nodiscard]] const sample::SamplerOptions& options() const { return options_; }
    /// The seeds of a part in a step of the run.
    [[nodiscard]] std::vector<VertexId> seeds(PartId part, std::uint64_t step) const;
    /// One batch, sampled anew.
    [[nodiscard]] sample::Batch batch(PartId part, std::uint64_t step);

private:
    partition::PartitionedDataset data_;
    std::vector<partition::Part> parts_;
    std::unique_ptr<sample::NeighbourSource> source_;
    sample::Schedule schedule_;
    sample::SamplerOptions options_;
    sample::NeighbourSampler sampler_;
};

/// Edges drawn, beside random reads of as many entries of the same rows.
[[nodiscard]] StageFigures sample_stage(const StageSettings& settings);
/// Rows of this process brought together, beside copies of as many bytes.
[[nodiscard]] StageFigures own_rows_stage(const StageSettings& settings);
/// Rows of other ranks of this machine, all ranks asking at once; under mpirun. Figures on rank 0
/// alone.
[[nodiscard]] StageFigures remote_rows_stage(const StageSettings& settings);
/// What a remote row costs each policy, beside one touched line of memory per row.
[[nodiscard]] StageFigures policy_stage(const StageSettings& settings);

}  // namespace rudder::bench
