// metrics.jsonl, epochs.jsonl and decisions.jsonl of a run's folder.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sink.hpp"

namespace rudder::report {

/// Writes lines of metrics.jsonl. Knows the policies it has seen, which few of thousands of steps
/// change.
class StepLines {
public:
    /// Appends the line of a step, with its end.
    void append(std::string& text, const train::StepRecord& step);

private:
    struct KnownPolicy {
        buffer::PolicySpec policy;
        std::string front;    ///< the policy and its window, as JSON members
        std::string further;  ///< its further knobs
    };
    [[nodiscard]] const KnownPolicy& known(const train::StepRecord& step);
    void append_knobs(std::string& text, const train::StepRecord& step);

    std::vector<KnownPolicy> policies_;
    std::size_t last_ = 0;  ///< of them, the one of the step before
};

/// A line of epochs.jsonl, with its end.
[[nodiscard]] std::string epoch_line(const train::EpochRecord& epoch);

/// Writes them. What could not be written whole is taken back, so that lines are whole.
class JsonLinesSink final : public MetricSink {
public:
    /// Goes on in `folder` after `metrics_bytes` of metrics.jsonl, behind which it is cut (one that
    /// is shorter, or does not end a line there, is cut to its last whole line, with a warning),
    /// and after `told` in epochs.jsonl, which begins anew with them; lines are added to a
    /// decisions.jsonl that is there. An Error where that cannot be.
    explicit JsonLinesSink(const std::filesystem::path& folder, std::uint64_t metrics_bytes = 0,
                           std::span<const train::EpochRecord> told = {});
    ~JsonLinesSink() override;

    [[nodiscard]] std::string_view name() const override { return "metrics.jsonl"; }
    void steps(std::span<const train::StepRecord> steps) override;
    void epoch(const train::EpochRecord& epoch) override;
    void decisions(std::span<const steer::DecisionRecord> decisions) override;
    void close() override;

    /// How long metrics.jsonl is: shared, since it is asked for after the sink has failed, too.
    [[nodiscard]] std::shared_ptr<const std::atomic<std::uint64_t>> metrics_bytes() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::report
