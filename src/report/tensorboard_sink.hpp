// Event files that TensorBoard reads.
#pragma once

#include <filesystem>
#include <memory>

#include "sink.hpp"

namespace rudder::report {

/// Writes one file events.out.tfevents.* into a run's folder. A step is one event: of counts the
/// sum over its ranks, of all else the mean. An epoch's values lie at its last step.
class TensorBoardSink final : public MetricSink {
public:
    /// Begins a new file, which TensorBoard reads after those that are there. What they hold of
    /// `first_step` and later steps no longer counts.
    TensorBoardSink(const std::filesystem::path& folder, std::uint64_t first_step);
    ~TensorBoardSink() override;

    [[nodiscard]] std::string_view name() const override { return "TensorBoard"; }
    void steps(std::span<const train::StepRecord> steps) override;
    void epoch(const train::EpochRecord& epoch) override;
    void close() override;
    [[nodiscard]] const std::filesystem::path& file() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::report
