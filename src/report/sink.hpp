// Where the numbers of a run go: what sinks are given, and what a sink is.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rudder/train/records.hpp"
#include "steer/log/decision_log.hpp"

namespace rudder::report {

/// One place that the numbers of a run go to. Called by one task at a time. What it throws closes
/// it for good; the run goes on.
class MetricSink {
public:
    virtual ~MetricSink() = default;
    /// As people know it, such as "metrics.jsonl".
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Steps of ranks, in the order of step and rank.
    virtual void steps(std::span<const train::StepRecord> steps) = 0;
    virtual void epoch(const train::EpochRecord& /*epoch*/) {}
    virtual void decisions(std::span<const steer::DecisionRecord> /*decisions*/) {}
    /// The run has ended: all of it is to be where it belongs.
    virtual void close() {}
    /// CPU time that it took on threads of its own, in nanoseconds.
    [[nodiscard]] virtual std::uint64_t cpu_nanoseconds() const { return 0; }
};

}  // namespace rudder::report
