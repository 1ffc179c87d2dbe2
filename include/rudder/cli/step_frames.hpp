// What training records of a run, as sinks take it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "rudder/report/sink.hpp"
#include "rudder/train/records.hpp"

namespace rudder::cli {

/// Turns records into frames. Knows the policies it has seen, which few of thousands of steps
/// change.
class StepFrames {
public:
    [[nodiscard]] StepBatch frames(std::span<const StepRecord> records);

private:
    [[nodiscard]] std::uint32_t place(StepBatch& batch, const std::string& policy);

    std::map<std::string, PolicyWords> known_;
};

[[nodiscard]] std::vector<DecisionFrame> decision_frames(std::span<const DecisionLine> lines);
/// `regression`: there is no accuracy.
[[nodiscard]] EpochFrame epoch_frame(const EpochRecord& epoch, bool regression);

}  // namespace rudder::cli
