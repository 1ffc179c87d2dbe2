#include "live_state.hpp"

#include <algorithm>

namespace rudder::cli {

namespace {

constexpr auto stretch = std::chrono::seconds(2);
/// Points of the curve of losses; half of them after it was thinned out.
constexpr std::size_t most_points = 24;
/// How many are searched for the last decision that changed something.
constexpr std::size_t decisions_looked_at = 16;

double seconds_between(LiveState::Clock::time_point from, LiveState::Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

LiveState::LiveState(std::string title, std::uint32_t epochs, int ranks, Clock::time_point start)
    : start_(start) {
    facts_.title = std::move(title);
    facts_.epochs = epochs;
    facts_.ranks = ranks;
    before_.begin = start;
    now_.begin = start;
}

void LiveState::step(const train::StepRecord& record, std::uint64_t steps, Clock::time_point now) {
    if (now - now_.begin > stretch) {
        before_ = now_;
        now_ = {};
        now_.begin = now;
    }
    ++now_.steps;
    now_.bytes += record.bytes.total();
    now_.seconds += record.seconds;
    now_.rows += record.rows;
    ++steps_here_;
    facts_.steps_done = record.step + 1;
    facts_.steps = steps;
    facts_.epoch = record.epoch;
    facts_.loss = static_cast<double>(record.loss);
    note_loss(facts_.loss);
}

void LiveState::note_loss(double loss) {
    point_sum_ += loss;
    if (++in_point_ < steps_per_point_) return;
    std::vector<double>& points = facts_.losses;
    points.push_back(point_sum_ / static_cast<double>(in_point_));
    point_sum_ = 0;
    in_point_ = 0;
    if (points.size() < most_points) return;
    for (std::size_t i = 0; i < points.size() / 2; ++i)
        points[i] = (points[2 * i] + points[2 * i + 1]) / 2;
    points.resize(points.size() / 2);
    steps_per_point_ *= 2;
}

/// The last that changed something, or else the last.
void LiveState::decisions(std::span<const steer::DecisionRecord> decisions) {
    if (decisions.empty()) return;
    const auto looked_at = decisions.last(std::min(decisions.size(), decisions_looked_at));
    const auto changed = std::find_if(looked_at.rbegin(), looked_at.rend(), [](const auto& one) {
        return one.action.kind != steer::ActionKind::keep;
    });
    facts_.decision = decision_text(changed == looked_at.rend() ? looked_at.back() : *changed);
}

void LiveState::epoch(const train::EpochRecord& record) {
    if (!record.scores.evaluated || record.scores.valid.answers == 0) return;
    facts_.valid = record.scores.valid.share();
    facts_.valid_epoch = record.epoch;
}

LiveFacts LiveState::facts(Clock::time_point now) const {
    LiveFacts facts = facts_;
    const double recent = std::max(seconds_between(before_.begin, now), 1e-9);
    facts.rows = before_.rows;
    facts.rows += now_.rows;
    const auto steps = static_cast<double>(before_.steps + now_.steps);
    facts.bytes_per_second = static_cast<double>(before_.bytes + now_.bytes) / recent;
    facts.steps_per_second = steps / recent;
    const double step_seconds = before_.seconds.step + now_.seconds.step;
    const double stall = before_.seconds.stall + now_.seconds.stall;
    facts.stall = step_seconds > 0 ? stall / step_seconds : 0;
    const double per_step =
        seconds_between(start_, now) / static_cast<double>(std::max<std::uint64_t>(steps_here_, 1));
    facts.seconds_left = per_step * static_cast<double>(facts.steps - facts.steps_done);
    return facts;
}

}  // namespace rudder::cli
