// What a person sees of a training run: a live line, a line per epoch, and where the time went.
#pragma once

#include <chrono>
#include <string>

#include "rudder/core/json_fwd.hpp"
#include "rudder/train/trainer.hpp"

namespace rudder::cli {

/// Shows a run on rank 0.
class TrainView final : public TrainObserver {
public:
    /// `live` draws a line that changes, on standard error; `lines` prints one per epoch, on
    /// standard output.
    TrainView(bool live, bool lines);
    ~TrainView() override;

    void step_done(const StepRecord& record, std::uint64_t steps) override;
    void epoch_done(const EpochRecord& record, std::uint32_t epochs) override;

private:
    using Clock = std::chrono::steady_clock;
    void erase();

    bool live_;
    bool lines_;
    bool drawn_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_draw_ = start_;
    std::uint64_t steps_done_ = 0;
    std::uint64_t rows_ = 0;
    std::uint64_t bytes_ = 0;
    StepSeconds seconds_;
    std::string accuracy_;  ///< of the last evaluation
};

/// Whether a live line can be drawn: standard error, or that of whoever started this rank, is a
/// terminal.
[[nodiscard]] bool live_terminal();
/// Called by the program that starts ranks, which see only a pipe.
void pass_terminal_on();

/// The closing table, from the value of summary.json.
[[nodiscard]] std::string summary_text(const Json& summary);
/// The plan for people.
[[nodiscard]] std::string plan_text(const TrainPlan& plan, int ranks);

}  // namespace rudder::cli
