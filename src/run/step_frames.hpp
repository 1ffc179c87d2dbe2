// What training records of a run, as sinks take it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "report/sink.hpp"
#include "rudder/train/records.hpp"

namespace rudder::run {

/// Turns records into frames. Knows the policies it has seen, which few of thousands of steps
/// change.
class StepFrames {
public:
    [[nodiscard]] report::StepBatch frames(std::span<const train::StepRecord> records);

private:
    [[nodiscard]] std::uint32_t place(report::StepBatch& batch, const std::string& policy);

    std::map<std::string, report::PolicyWords> known_;
};

[[nodiscard]] std::vector<report::DecisionFrame> decision_frames(
    std::span<const train::DecisionLine> lines);
/// `regression`: there is no accuracy.
[[nodiscard]] report::EpochFrame epoch_frame(const train::EpochRecord& epoch, bool regression);

}  // namespace rudder::run
