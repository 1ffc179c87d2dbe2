// What a person sees of a training run while it goes on: a live view, or a line per epoch.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "report/run_watch.hpp"
#include "rudder/train/trainer.hpp"

#include "terminal.hpp"

namespace rudder::cli {

struct ViewOptions {
    bool live = false;   ///< lines that change, on standard error
    bool lines = false;  ///< one per epoch, on standard output
    report::RunPlan plan{};
};

/// What is known of a run before its first step; `name`: of several, which it is.
[[nodiscard]] report::RunPlan run_plan(const train::TrainOptions& options,
                                       const comm::Communicator& comm,
                                       const std::string& name = {});

/// Shows a run on rank 0.
class TrainView final : public train::TrainObserver {
public:
    explicit TrainView(ViewOptions options);

    void step_done(const train::StepRecord& record, std::uint64_t steps) override;
    void records(std::span<const train::StepRecord> records) override;
    void decisions(std::span<const steer::DecisionRecord> decisions) override;
    void epoch_done(const train::EpochRecord& record, std::uint32_t epochs) override;

private:
    using Clock = std::chrono::steady_clock;

    ViewOptions options_;
    report::RunWatch watch_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_draw_;
    std::optional<Screen> screen_;  ///< of a live view
};

/// Prints for a person: on standard output, or, where that and standard error are one terminal with
/// a live view, on standard error, since only there it comes after what was erased before it.
void print_below_view(const std::string& text, bool live);

}  // namespace rudder::cli
