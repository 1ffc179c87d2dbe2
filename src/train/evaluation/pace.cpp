#include "pace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rudder/nn/optimiser.hpp"

namespace rudder::train {

namespace {

/// Whether the epoch before was evaluated beside this one.
bool shared(std::span<const EpochRecord> epochs, std::size_t i) noexcept {
    return i > 0 && epochs[i - 1].scores.evaluated;
}

}  // namespace

EvaluationCost evaluation_cost(std::span<const EpochRecord> epochs) noexcept {
    EvaluationCost cost;
    double alone = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < epochs.size(); ++i) {
        if (!shared(epochs, i)) alone = std::min(alone, epochs[i].seconds);
    }
    for (std::size_t i = 1; i < epochs.size(); ++i) {
        if (!shared(epochs, i)) continue;
        cost.last = epochs[i - 1].evaluation_seconds + std::max(0.0, epochs[i].seconds - alone);
        cost.all += cost.last;
    }
    cost.epoch = std::isfinite(alone) ? alone : 0;
    return cost;
}

std::uint32_t evaluation_interval(const EvaluationCost& cost) noexcept {
    if (cost.all < free_evaluation_seconds) return 1;
    constexpr double most = 1e6;
    const double allowed = cost.epoch * evaluation_share / (1 - evaluation_share);
    return static_cast<std::uint32_t>(std::clamp(std::ceil(cost.last / allowed), 1.0, most));
}

bool awaits_scores(const TrainOptions& options) {
    return options.patience != 0 ||
           nn::LearningRateSchedule(options.lr_schedule, options.warmup).plateau() != 0;
}

std::uint32_t evaluation_interval(const TrainOptions& options,
                                  std::span<const EpochRecord> epochs) {
    if (options.eval_every) return *options.eval_every;
    return awaits_scores(options) ? 1 : evaluation_interval(evaluation_cost(epochs));
}

bool evaluation_due(const TrainOptions& options, std::span<const EpochRecord> epochs) {
    const std::uint32_t every = evaluation_interval(options, epochs);
    if (every == 0 || epochs.empty()) return false;
    const std::uint32_t done = epochs.back().epoch + 1;
    if (done == options.epochs) return true;
    if (options.eval_every) return done % every == 0;
    const auto past = epochs.first(epochs.size() - 1);
    const auto last = std::find_if(past.rbegin(), past.rend(),
                                   [](const EpochRecord& e) { return e.scores.evaluated; });
    return last == past.rend() || done - (last->epoch + 1) >= every;
}

std::uint32_t evaluations(std::span<const EpochRecord> epochs) noexcept {
    return static_cast<std::uint32_t>(
        std::ranges::count_if(epochs, [](const EpochRecord& e) { return e.scores.evaluated; }));
}

}  // namespace rudder::train
