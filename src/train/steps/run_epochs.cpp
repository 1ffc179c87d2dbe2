// The end of an epoch: scores, evaluation, early stopping, checkpoints.
#include <algorithm>

#include "train/checkpoints/checkpoint_keeper.hpp"

#include "run.hpp"

namespace rudder::train {

/// The evaluation of the epoch before is waited for here: what follows from it takes effect at this
/// step and no other.
void Run::finish_epoch() {
    flush();
    gather_score();
    EpochRecord epoch;
    epoch.regression = s_.objective == nn::Objective::regression;
    epoch.epoch = static_cast<std::uint32_t>(state_.step / steps_per_epoch() - 1);
    epoch.steps = steps_per_epoch();
    epoch.loss = state_.epoch_loss;
    epoch.seconds = state_.epoch_seconds + epoch_watch_.lap();
    epoch.scores.train = state_.epoch_score;
    finish_evaluation();
    state_.epochs.push_back(epoch);
    state_.epoch_loss = 0;
    state_.epoch_seconds = 0;
    state_.epoch_score = {};
    if (s_.evaluation_due(epoch.epoch)) {
        start_evaluation(s_.network->weights());
    } else {
        tell_epoch(epoch);
    }
    const std::uint32_t every = checkpoints_.every_epochs;
    const bool last = state_.step == steps_ || state_.stopped_early;
    if (checkpoints_.wanted && (last || (every != 0 && (epoch.epoch + 1) % every == 0)))
        write_checkpoint();
    step_watch_.lap();  // what lies between epochs is no part of the next step
}

void Run::start_evaluation(std::span<const float> weights) {
    pending_ = true;
    s_.start_evaluation(weights);
}

void Run::finish_evaluation() {
    if (!pending_) return;
    pending_ = false;
    EpochRecord& epoch = state_.epochs.back();
    Stopwatch watch;
    const Score trained = epoch.scores.train;
    epoch.scores = s_.finish_evaluation();
    if (epoch.scores.train.answers == 0) epoch.scores.train = trained;
    epoch.evaluation_seconds = watch.lap();
    note_scores(epoch);
    tell_epoch(epoch);
}

void Run::note_scores(EpochRecord& epoch) {
    const auto index = static_cast<std::uint32_t>(state_.epochs.size() - 1);
    if (!state_.best_epoch || better(epoch.scores, state_.epochs[*state_.best_epoch].scores)) {
        state_.best_epoch = index;
        if (checkpoints_.keeper != nullptr)
            checkpoints_.keeper->best((std::uint64_t{epoch.epoch} + 1) * steps_per_epoch());
        state_.plateau_begin = evaluations();
    }
    const std::uint64_t plateau = s_.learning_rate.plateau();
    if (plateau != 0 && evaluations() - state_.plateau_begin >= plateau) {
        state_.rate_factor *= s_.learning_rate.plateau_factor();
        state_.plateau_begin = evaluations();
    }
    if (s_.options.patience != 0 && evaluations_since_best() >= s_.options.patience)
        state_.stopped_early = true;
}

bool Run::better(const Scores& scores, const Scores& best) const {
    if (s_.objective == nn::Objective::regression) return scores.valid.loss < best.valid.loss;
    return scores.valid.share() > best.valid.share();
}

std::uint32_t Run::evaluations() const {
    return static_cast<std::uint32_t>(std::ranges::count_if(
        state_.epochs, [](const EpochRecord& e) { return e.scores.evaluated; }));
}

std::uint32_t Run::evaluations_since_best() const {
    return static_cast<std::uint32_t>(
        std::count_if(state_.epochs.begin() + *state_.best_epoch + 1, state_.epochs.end(),
                      [](const EpochRecord& e) { return e.scores.evaluated; }));
}

void Run::tell_epoch(const EpochRecord& epoch) {
    if (s_.comm.rank() == 0) observer_.epoch_done(epoch, s_.options.epochs);
}

}  // namespace rudder::train
