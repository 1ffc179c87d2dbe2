#include "run_progress.hpp"

#include <span>

#include "train/evaluation/pace.hpp"

namespace rudder::train {

RunProgress::RunProgress(const Ground& ground, const Learner& learner, RunState start)
    : ground_(ground),
      learner_(learner),
      epoch_steps_(ground.schedule.steps_per_epoch()),
      steps_(ground.steps()),
      state_(std::move(start)) {}

std::uint32_t RunProgress::epoch() const noexcept {
    return static_cast<std::uint32_t>(state_.step / epoch_steps_);
}

bool RunProgress::lacks_scores() const {
    return !state_.epochs.empty() && !state_.epochs.back().scores.evaluated &&
           evaluation_due(ground_.options, state_.epochs);
}

void RunProgress::step_done(float loss) {
    state_.epoch_loss += static_cast<double>(loss) / static_cast<double>(epoch_steps_);
    if (state_.step == 0) state_.first_loss = loss;
    state_.last_loss = loss;
    ++state_.step;
}

EpochRecord RunProgress::ended_epoch(double seconds) const {
    EpochRecord record;
    record.regression = learner_.regression();
    record.epoch = epoch() - 1;
    record.steps = epoch_steps_;
    record.loss = state_.epoch_loss;
    record.seconds = state_.epoch_seconds + seconds;
    record.scores.train = state_.epoch_score;
    return record;
}

void RunProgress::add_epoch(const EpochRecord& epoch) {
    state_.epochs.push_back(epoch);
    state_.epoch_loss = 0;
    state_.epoch_seconds = 0;
    state_.epoch_score = {};
}

bool RunProgress::add_scores(Scores scores, double seconds) {
    EpochRecord& epoch = state_.epochs.back();
    if (scores.train.answers == 0) scores.train = epoch.scores.train;
    epoch.scores = scores;
    epoch.evaluation_seconds = seconds;
    const bool best =
        !state_.best_epoch || better(scores, state_.epochs[*state_.best_epoch].scores);
    if (best) {
        state_.best_epoch = static_cast<std::uint32_t>(state_.epochs.size() - 1);
        state_.plateau_begin = evaluations(state_.epochs);
    }
    const nn::LearningRateSchedule& rate = learner_.learning_rate();
    const std::uint32_t all = evaluations(state_.epochs);
    if (rate.plateau() != 0 && all - state_.plateau_begin >= rate.plateau()) {
        state_.rate_factor *= rate.plateau_factor();
        state_.plateau_begin = all;
    }
    const std::uint32_t patience = ground_.options.patience;
    const auto since = std::span<const EpochRecord>(state_.epochs).subspan(*state_.best_epoch + 1);
    if (patience != 0 && evaluations(since) >= patience) state_.stopped_early = true;
    return best;
}

bool RunProgress::better(const Scores& scores, const Scores& best) const {
    if (learner_.regression()) return scores.valid.loss < best.valid.loss;
    if (scores.valid_links && best.valid_links)
        return scores.valid_links->mrr > best.valid_links->mrr;
    return scores.valid.share() > best.valid.share();
}

}  // namespace rudder::train
