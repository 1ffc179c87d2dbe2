#include "timed_trial.hpp"

#include <algorithm>
#include <utility>

namespace rudder::steer {

namespace {

constexpr double least_timed_gain = 0.01;    ///< of a step
constexpr double clearly_slower = 0.04;      ///< left at once
constexpr std::size_t seen_at_least = 2;     ///< samples, for that
constexpr double slower_wrongly = 0.1;       ///< chance of leaving one that is no slower
constexpr double least_apart = 0.002;        ///< of a step: what stretches differ by at least
constexpr std::size_t enough_stretches = 8;  ///< for one that does not seem faster

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Groups of gradients are waited for at the end of a step; threads that sample or fetch take
/// cores from computing; all else concerns fetching alone.
double StepTimes::*judged_by(const Choice& present, const Choice& other) {
    double StepTimes::*times = &StepTimes::stall;
    for (const KnobChange& change : changes_between(present.setting, other.setting)) {
        if (change.id == KnobId::buckets) return &StepTimes::step;
        if (change.id == KnobId::sample_threads || change.id == KnobId::fetch_threads)
            times = &StepTimes::own;
    }
    return times;
}

}  // namespace

TimedTrial::TimedTrial(Choice other, const Choice& present, const std::deque<StepTimes>& before,
                       double level, std::uint64_t draws)
    : other_(std::move(other)),
      judged_by_(judged_by(present, other_)),
      level_(level),
      stream_({.purpose = Purpose::steer, .seed = draws, .layer = 2}),
      scale_(1, least_apart, 1) {
    for (const StepTimes& times : before) {
        ours_.samples.push_back(times);
        ours_.costs.push_back(cost_of(times));
        step_ += times.step / static_cast<double>(before.size());
    }
    ours_.sum = median(ours_.costs);
    ours_.stretches = 1;
    begin_stretch();
}

double TimedTrial::cost_of(const StepTimes& times) const {
    return times.*judged_by_;
}

/// Tossed anew for every stretch, whatever came before.
void TimedTrial::begin_stretch() {
    in_other_ = Draws(stream_, drawn_).below(2) == 1;
    samples_left_ = 1 + Draws(stream_, ~drawn_).below(longest);
    ++drawn_;
    changing_ = true;
    in_stretch_ = 0;
    taken_ = 0;
}

bool TimedTrial::add(const StepTimes& times) {
    if (std::exchange(changing_, false)) return false;
    Side& side = in_other_ ? theirs_ : ours_;
    side.samples.push_back(times);
    side.costs.push_back(cost_of(times));
    in_stretch_ += cost_of(times);
    ++taken_;
    if (--samples_left_ > 0) return false;
    end_stretch();
    judge();
    if (verdict_ == TrialVerdict::open) begin_stretch();
    return true;
}

/// Between the two sides, as far as they are known.
double TimedTrial::middle() const {
    return theirs_.stretches == 0 ? ours_.mean() : (ours_.mean() + theirs_.mean()) / 2;
}

void TimedTrial::end_stretch() {
    const double cost = in_stretch_ / static_cast<double>(taken_);
    const double apart = (cost - middle()) / std::max(step_, 1e-9);
    const double x = in_other_ ? apart : -apart;
    better_.add(x / scale_.now());
    worse_.add(-x / scale_.now());
    scale_.add(x);
    Side& side = in_other_ ? theirs_ : ours_;
    side.sum += cost;
    ++side.stretches;
    ++stretches_;
}

void TimedTrial::judge() {
    if (theirs_.stretches == 0) return;
    difference_ = (median(theirs_.costs) - median(ours_.costs)) / std::max(step_, 1e-9);
    const double gain = -difference_;
    if (gain > least_timed_gain && better_.capital() >= 1 / level_) {
        verdict_ = TrialVerdict::better;
    } else if ((-gain > clearly_slower && theirs_.samples.size() >= seen_at_least) ||
               (-gain > least_timed_gain && worse_.capital() >= 1 / slower_wrongly)) {
        // Trying costs real time, and leaving needs no proof.
        verdict_ = TrialVerdict::worse;
    } else if (stretches_ >= most_stretches ||
               (stretches_ >= enough_stretches && gain < least_timed_gain)) {
        verdict_ = TrialVerdict::no_better;
    }
}

}  // namespace rudder::steer
