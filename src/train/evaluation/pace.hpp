// When epochs are evaluated: at intervals that were given, or as often as evaluation stays cheap.
#pragma once

#include <cstdint>
#include <span>

#include "rudder/train/options.hpp"
#include "rudder/train/records.hpp"

namespace rudder::train {

/// What evaluation may take of a run's time where nobody said how often it is done; and seconds
/// that it may take in any case, so that short runs are evaluated after every epoch.
inline constexpr double evaluation_share = 0.2;
inline constexpr double free_evaluation_seconds = 1;

/// What evaluations took from training so far, in seconds, and an epoch without one beside it.
struct EvaluationCost {
    double all = 0;
    double last = 0;   ///< of the last one that has ended
    double epoch = 0;  ///< the shortest of those with no evaluation beside them
};
/// An evaluation runs beside the epoch that follows: it took what training waited for it, and by
/// what that epoch was longer than the shortest that had the machine for itself.
[[nodiscard]] EvaluationCost evaluation_cost(std::span<const EpochRecord> epochs) noexcept;

/// Epochs from one evaluation to the next that keep it within its share of the time.
[[nodiscard]] std::uint32_t evaluation_interval(const EvaluationCost& cost) noexcept;

/// Whether training depends on the scores of every evaluation: early stopping, a learning rate that
/// falls on plateaus.
[[nodiscard]] bool awaits_scores(const TrainOptions& options);

/// Epochs from one evaluation to the next as things stand after these epochs; 0: there are none. As
/// the options say; where they do not, 1 if training awaits scores, else what the cost allows.
[[nodiscard]] std::uint32_t evaluation_interval(const TrainOptions& options,
                                                std::span<const EpochRecord> epochs);

/// Whether the last of these epochs, which are all so far, is to be evaluated. The last of a run
/// always is, unless there are no evaluations; so is the first where the interval follows from the
/// cost, which is not known before.
[[nodiscard]] bool evaluation_due(const TrainOptions& options, std::span<const EpochRecord> epochs);

/// How many of these epochs were evaluated.
[[nodiscard]] std::uint32_t evaluations(std::span<const EpochRecord> epochs) noexcept;

}  // namespace rudder::train
