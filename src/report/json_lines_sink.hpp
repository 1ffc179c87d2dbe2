// metrics.jsonl, epochs.jsonl and decisions.jsonl of a run's folder.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "sink.hpp"

namespace rudder::report {

/// Appends to `text` the line of metrics.jsonl of the step at `index`, with its end.
void append_step_line(std::string& text, const StepBatch& batch, std::size_t index);
/// A line of epochs.jsonl, with its end.
[[nodiscard]] std::string epoch_line(const EpochFrame& epoch);

/// Writes them. What could not be written whole is taken back, so that lines are whole.
class JsonLinesSink final : public MetricSink {
public:
    /// Goes on in `folder` after `metrics_bytes` of metrics.jsonl, behind which it is cut, and
    /// after `told` in epochs.jsonl, which begins anew with them; lines are added to a
    /// decisions.jsonl that is there. An Error where that cannot be.
    explicit JsonLinesSink(const std::filesystem::path& folder, std::uint64_t metrics_bytes = 0,
                           std::span<const EpochFrame> told = {});
    ~JsonLinesSink() override;

    [[nodiscard]] std::string_view name() const override { return "metrics.jsonl"; }
    void steps(const StepBatch& batch) override;
    void epoch(const EpochFrame& epoch) override;
    void decisions(std::span<const DecisionFrame> decisions) override;
    void close() override;

    /// How long metrics.jsonl is: shared, since it is asked for after the sink has failed, too.
    [[nodiscard]] std::shared_ptr<const std::atomic<std::uint64_t>> metrics_bytes() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::report
