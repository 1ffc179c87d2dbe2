// What is kept of a run while it goes on.
#pragma once

#include <span>

#include "rudder/cli/last_words.hpp"
#include "rudder/cli/run_card.hpp"
#include "rudder/train/run_folder.hpp"
#include "rudder/train/trainer.hpp"

namespace rudder::cli {

/// Writes down what it sees of a run, on rank 0.
class RunRecorder final : public TrainObserver {
public:
    /// `regression`: there is no accuracy.
    RunRecorder(RunFolder folder, const Json& facts, bool regression);

    /// The epochs that a run which goes on had told of before.
    void told(std::span<const EpochRecord> epochs);

    void records(std::span<const StepRecord> records) override { folder_.append(records); }
    void decisions(std::span<const DecisionLine> lines) override { folder_.append(lines); }
    void epoch_done(const EpochRecord& record, std::uint32_t epochs) override;
    [[nodiscard]] std::uint64_t metrics_bytes() const override { return folder_.metrics_bytes(); }

    /// The run has come to its end.
    void finish(const Json& summary);
    /// It was interrupted and can be gone on with.
    void interrupt() { card_.end("interrupted"); }
    /// It ends with this error, which is thrown on.
    void fail(const std::exception& error);

private:
    RunFolder folder_;
    RunCard card_;
    LastWords words_;
    bool regression_;
};

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

}  // namespace rudder::cli
