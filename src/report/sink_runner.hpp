// The task that feeds the sinks of a run, so that training only hands over.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sink.hpp"

namespace rudder::report {

/// What sinks have cost so far.
struct SinkTotals {
    std::vector<std::string> names;  ///< of all, closed ones included
    std::uint64_t lines = 0;         ///< steps of ranks
    double cpu_seconds = 0;          ///< of the sinks and of handing over
    double handover_seconds = 0;     ///< of CPU time that training took to hand over
    double flush_seconds = 0;        ///< by the clock, that it waited for what it had handed over
};

/// Owns sinks and a task that feeds them. One that throws is closed and said once, as a warning.
/// All calls are those of one task.
class SinkRunner {
public:
    explicit SinkRunner(std::vector<std::unique_ptr<MetricSink>> sinks);
    /// Closes.
    ~SinkRunner();
    SinkRunner(SinkRunner&&) = delete;

    /// Hands over copies; waits only where the sinks are far behind.
    void steps(std::span<const train::StepRecord> steps);
    void epoch(const train::EpochRecord& epoch);
    void decisions(std::span<const steer::DecisionRecord> decisions);
    /// Waits until the sinks have taken all that was handed over.
    void flush();
    /// The same, and closes them; nothing may be handed over afterwards.
    void close();
    /// After `close`.
    [[nodiscard]] SinkTotals totals() const;

private:
    struct State;
    class Handover;
    std::shared_ptr<State> state_;
};

}  // namespace rudder::report
