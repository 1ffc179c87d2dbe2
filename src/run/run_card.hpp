// run.json of a run's folder: what was started, and how it stands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "rudder/core/json_fwd.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/run/ranks.hpp"
#include "rudder/train/options.hpp"

namespace rudder::run {

/// How a run begins, by whoever carries it out.
struct RunStart {
    std::uint64_t steps_per_epoch = 0;
    std::string policy;
};

/// What is known of a run when it starts (docs/formats.md). `data` is the path as it was given.
[[nodiscard]] Json run_facts(const comm::Communicator& comm,
                             const partition::PartitionedDataset& data, const std::string& path,
                             const train::TrainOptions& options, const RankOptions& ranks,
                             const RunStart& start);

/// Keeps run.json, from one thread or several. That it cannot be written is said once, as a
/// warning.
class RunCard {
public:
    /// Writes it: the run is running. An earlier start of the same run that the folder tells of is
    /// kept in the list `resumed`.
    RunCard(const std::filesystem::path& folder, Json facts);
    ~RunCard();

    /// How it ended: finished, interrupted or failed, with the error. The first call counts.
    void end(std::string_view state, const std::string& error = {});

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::run
