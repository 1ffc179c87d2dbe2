#include "run_watch.hpp"

#include <algorithm>
#include <utility>

#include "core/step_time.hpp"

namespace rudder::report {

namespace {

constexpr double stretch_seconds = 2;
/// Points of the curve of losses; half of them after it was thinned out.
constexpr std::size_t most_loss_points = 96;
constexpr std::uint64_t most_watched_ranks = 1U << 16;

WatchedStep watched(const train::StepRecord& record) {
    return {record.step,    record.epoch, record.rank,         static_cast<double>(record.loss),
            record.seconds, record.rows,  record.bytes.total()};
}

}  // namespace

RunWatch::RunWatch(RunPlan plan) {
    now_.name = std::move(plan.name);
    now_.epochs = plan.epochs;
    now_.steps = plan.steps;
    now_.ranks = plan.ranks;
    now_.policy = std::move(plan.policy);
    now_.agent = std::move(plan.agent);
}

void RunWatch::step(const train::StepRecord& record, std::uint64_t steps) {
    now_.steps = steps;
    note_policy(record);
    step(watched(record));
}

void RunWatch::records(std::span<const train::StepRecord> records) {
    for (const train::StepRecord& record : records) {
        if (record.rank == 0) {
            if (record.step < now_.step) continue;  // told when it was done
            note_policy(record);
        }
        step(watched(record));
    }
}

void RunWatch::step(const WatchedStep& step) {
    if (step.rank >= most_watched_ranks) return;
    add_rank(step);
    if (step.rank != 0) return;
    ++steps_seen_;
    now_.step = step.step + 1;
    now_.epoch = step.epoch + 1;
    now_.seconds += step.seconds.step;
    now_.loss = step.loss;
    note_loss(step.loss);
}

void RunWatch::add_rank(const WatchedStep& step) {
    if (step.rank >= ranks_.size()) ranks_.resize(step.rank + 1);
    RankStretches& rank = ranks_[step.rank];
    if (rank.now.seconds.step > stretch_seconds) rank.before = std::exchange(rank.now, {});
    ++rank.now.steps;
    rank.now.bytes += step.bytes;
    rank.now.seconds += step.seconds;
    rank.now.rows += step.rows;
}

/// Its text is made where it has changed alone.
void RunWatch::note_policy(const train::StepRecord& record) {
    if (!record.buffered) {
        policy_.reset();
        now_.policy.clear();
    } else if (policy_ != record.knobs.policy) {
        policy_ = record.knobs.policy;
        now_.policy = policy_->text();
    }
}

void RunWatch::note_loss(double loss) {
    point_sum_ += loss;
    if (++in_point_ < steps_per_point_) return;
    std::vector<double>& points = now_.losses;
    points.push_back(point_sum_ / static_cast<double>(in_point_));
    point_sum_ = 0;
    in_point_ = 0;
    if (points.size() < most_loss_points) return;
    for (std::size_t i = 0; i < points.size() / 2; ++i)
        points[i] = (points[2 * i] + points[2 * i + 1]) / 2;
    points.resize(points.size() / 2);
    steps_per_point_ *= 2;
}

void RunWatch::decisions(std::span<const steer::DecisionRecord> decisions) {
    for (const steer::DecisionRecord& record : decisions) {
        ++now_.decisions;
        if (!was_applied(record)) continue;
        ++now_.applied;
        now_.decision = in_words(record);
    }
}

void RunWatch::epoch(std::uint64_t epoch, std::optional<double> valid, double evaluation_seconds) {
    now_.seconds += evaluation_seconds;
    if (!valid) return;
    now_.valid = valid;
    now_.valid_epoch = epoch + 1;
}

Standing RunWatch::standing(std::optional<double> elapsed) const {
    Standing all = now_;
    if (elapsed) all.seconds = *elapsed;
    double step_seconds = 0;
    double waited_seconds = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        Stretch sum = ranks_[r].before;
        sum.steps += ranks_[r].now.steps;
        sum.bytes += ranks_[r].now.bytes;
        sum.seconds += ranks_[r].now.seconds;
        sum.rows += ranks_[r].now.rows;
        if (sum.steps == 0) continue;
        const auto steps = static_cast<double>(sum.steps);
        const Seconds parts = with_all_parts(sum.seconds);
        const double seconds = std::max(sum.seconds.step, 1e-9);
        const auto remote = static_cast<double>(sum.rows.hit + sum.rows.demand);
        all.by_rank.push_back(
            {.rank = r,
             .step_seconds = parts.step / steps,
             .compute_seconds = parts.compute / steps,
             .stall_seconds = parts.stall / steps,
             .bytes_per_second = static_cast<double>(sum.bytes) / seconds,
             .hit_rate = remote > 0 ? static_cast<double>(sum.rows.hit) / remote : 0,
             .wait_rows_seconds = parts.wait_rows / steps,
             .wait_gradients_seconds = parts.wait_gradients / steps,
             .wait_ranks_seconds = parts.wait_ranks / steps,
             .wait_agent_seconds = parts.wait_agent / steps,
             .rest_seconds = parts.rest / steps});
        all.bytes_per_second += all.by_rank.back().bytes_per_second;
        all.rows += sum.rows;
        step_seconds += sum.seconds.step;
        waited_seconds += parts.wait_rows;
        if (r == 0) all.steps_per_second = steps / seconds;
    }
    all.wait_rows = step_seconds > 0 ? waited_seconds / step_seconds : 0;
    if (steps_seen_ != 0 && all.steps >= all.step) {
        all.seconds_left = all.seconds / static_cast<double>(steps_seen_) *
                           static_cast<double>(all.steps - all.step);
    }
    return all;
}

}  // namespace rudder::report
