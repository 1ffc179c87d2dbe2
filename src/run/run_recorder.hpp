// What is kept of a run while it goes on, and shown to other programs.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/train/observer.hpp"

#include "run_folder.hpp"

namespace rudder::run {

/// Which sinks a run has besides the files of its folder.
struct SinkSettings {
    bool tensorboard = true;
    std::optional<std::uint16_t> port;  ///< for Prometheus; 0: any that is free
    std::string address = "127.0.0.1";
};

/// Where a run goes on.
struct RunPosition {
    std::uint64_t step = 0;
    std::uint64_t metrics_bytes = 0;
    std::vector<train::EpochRecord> epochs;   ///< those that were told of
    std::optional<std::uint64_t> best_step;   ///< at which the best epoch so far ended
    std::vector<std::string> open_decisions;  ///< lines that decisions.jsonl may lack
};

/// Writes down what it sees of a run, on rank 0. Sinks work in a task of their own; one that fails
/// ends with a warning, and the run goes on.
class RunRecorder final : public train::TrainObserver {
public:
    /// `folder`: may be none. `facts` as run_facts has them. `regression`: there is no accuracy.
    RunRecorder(std::optional<RunFolder> folder, const Json& facts, const SinkSettings& settings,
                const RunPosition& start, bool regression);
    ~RunRecorder() override;

    void step_done(const train::StepRecord& record, std::uint64_t steps) override;
    void records(std::span<const train::StepRecord> records) override;
    void decisions(std::span<const steer::DecisionRecord> decisions) override;
    void epoch_done(const train::EpochRecord& record, std::uint32_t epochs) override;
    /// Waits until all that was handed over is there.
    [[nodiscard]] std::uint64_t metrics_bytes() const override;

    /// The run takes no more steps: all is written. What the sinks cost, for the summary;
    /// `cpu_seconds` are those of the whole run.
    [[nodiscard]] Json close(double cpu_seconds);
    /// The run has come to its end. An Error where its summary cannot be written.
    void finish(const Json& summary);
    /// It was interrupted and can be gone on with.
    void interrupt();
    /// It ends with this error, which is thrown on.
    void fail(const std::exception& error);

    struct State;

private:
    std::unique_ptr<State> state_;
};

/// The value `sinks` of the summary of a run that has none.
[[nodiscard]] Json no_sinks();

/// Runs `train`, whose failure is noted by `recorder` (may be null).
template <class Train>
auto recorded(RunRecorder* recorder, Train&& train) {
    try {
        return train();
    } catch (const std::exception& error) {
        if (recorder != nullptr) recorder->fail(error);
        throw;
    }
}

}  // namespace rudder::run
