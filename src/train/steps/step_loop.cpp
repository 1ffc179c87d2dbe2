#include "step_loop.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/span.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "train/input_rows.hpp"

#include "step_facts.hpp"

namespace rudder::train {

void RowsToDevice::assembled(const sample::Batch& batch, std::span<const float> rows) {
    network_.stage(batch, input_rows(format_, rows));
}

StepLoop::StepLoop(Ground& ground, Learner& learner, RowLearner* rows, GradientExchange& exchange,
                   RunBuffer& buffer, Steering* steering, std::uint64_t first, std::uint64_t digest)
    : ground_(ground),
      learner_(learner),
      rows_(rows),
      exchange_(exchange),
      buffer_(buffer),
      steering_(steering),
      to_device_(learner.network(), ground.store.format()),
      pipeline_(ground.schedule, *ground.source, ground.store, ground.sampler_options(),
                look_ahead_of(ground, first), ground.options.in_flight, buffer.live(),
                learner.device() == nullptr ? nullptr : &to_device_),
      slowness_(parse_slowness(ground.options.slow)),
      memory_(ground.comm, memory_bounds(ground.options.memory, ground.start_memory),
              process_memory),
      queue_bytes_(ground.queue_limit()),
      digest_(digest),
      before_(ground.comm.accounts()),
      coded_before_(ground.coders.totals()),
      received_(before_.received) {
    skip_time();  // all watches begin at one moment
}

StepConsensus StepLoop::step(StepRecord& record, FunctionRef<StepWishes()> wishes,
                             double rate_factor) {
    const Span span("training", record.step);
    ground_.comm.transport().at_step(record.step);
    Seconds& seconds = record.seconds;
    seconds.rest = phase_watch_.lap();
    AssembledStep& step = next(record);
    seconds.stall = phase_watch_.lap();
    if (steering_ != nullptr) exchange_.divide(steering_->groups(record.step));
    compute(step, record.step);
    seconds.compute = phase_watch_.lap();
    if (steering_ != nullptr && step.times) steering_->share_times(*step.times);
    if (steering_ != nullptr) steering_->send(record.step, step.counts, exchange_.extra());
    // Rows that an agent's answer held back would have been there by as much earlier.
    const double agent = std::min(step.agent_seconds, seconds.stall);
    const StepPace pace{
        .rows = seconds.stall - agent, .agent = agent, .ready = pace_watch_.passed()};
    // Once all ranks have the sum of the gradients, the changes of all rows have been made.
    if (rows_ != nullptr) rows_->update(step.sampled, learner_.rate(record.step, rate_factor));
    const StepConsensus consensus = exchange_.finish(losses_, wishes(), pace);
    seconds.reduce = phase_watch_.lap();
    pace_watch_.lap();
    divide_waits(seconds, pace, consensus.slowest);
    if (steering_ != nullptr) steering_->receive(record.step, exchange_.extra_sum(), pipeline_);
    refuse_broken(consensus, record.step);
    learner_.update(record.step, exchange_.sum(), rate_factor);
    device_times_ += learner_.network().take_device_times();
    seconds.compute += phase_watch_.lap();
    record.loss = consensus.loss;
    digest_.add(consensus.loss);
    note_step(step, pipeline_, record);
    record.knobs.buckets = exchange_.divided();
    pulled_ += step.received;
    done_ = record.step;
    pipeline_.release();
    if (buffer_.live() != nullptr) buffer_.live()->step_done(record.step);
    count_received(record);
    const Duration end = Executor::current().now();
    seconds.rest += phase_watch_.lap(end);
    seconds.step = step_watch_.lap(end);
    if (steering_ != nullptr) steering_->step_done(record);
    buffer_.adapt_window(record.seconds, pipeline_);
    if (const auto shortage = memory_.look()) give_back(*shortage);
    return consensus;
}

/// What is decoded has come before: it is looked at first, so that it is never more.
void StepLoop::count_received(StepRecord& record) {
    if (ground_.coders.used()) coded_ = ground_.coders.totals() - coded_before_;
    const comm::AccountTotals accounts = ground_.comm.accounts();
    const comm::Bytes now(accounts.received);
    record.bytes = now - received_;
    received_ = now;
    but_rows_ = (accounts.received_total - now.features) -
                (before_.received_total - comm::Bytes(before_.received).features);
}

comm::CodingTotals StepLoop::decoded() {
    comm::CodingTotals totals = coded_;
    if (ground_.coders.used()) totals.features = received_rows();
    return totals;
}

comm::CodedBytes StepLoop::received_rows() {
    if (!done_) return {};
    comm::CodedBytes all = pulled_;
    if (buffer_.live() != nullptr) all += buffer_.live()->received(*done_);
    return all;
}

AssembledStep& StepLoop::next(StepRecord& record) {
    const Span span("waiting for rows", record.step);
    AssembledStep& step = pipeline_.next();
    if (rows_ != nullptr) record.learned = rows_->fetch(step);
    return step;
}

/// Each own part in turn; what the last one completes is reduced while it goes on.
void StepLoop::compute(const AssembledStep& step, std::uint64_t number) {
    const Span span("computing", number);
    const Duration begin = Executor::current().now();
    const std::vector<partition::Part>& parts = ground_.parts;
    const float weight = 1.0F / static_cast<float>(ground_.schedule.seed_count(number));
    losses_.assign(parts.size(), 0.0F);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const sample::Batch& batch = step.sampled.batches[i];
        const bool last = i + 1 == parts.size();
        if (rows_ != nullptr)
            learner_.network().set_row_gradients(rows_->gradients(i, batch.vertices.size()));
        const nn::BatchResult result = learner_.network().train(
            batch, input_rows(ground_.store.format(), step.rows[i]), targets_of(i, batch), weight,
            exchange_.gradient(i), [&](std::size_t bucket) {
                if (last) exchange_.bucket_ready(bucket);
            });
        losses_[i] = result.loss;
        score_.correct += result.correct;
        score_.answers += result.answers;
    }
    slowness_.wait(ground_.comm.rank(), number, Executor::current().now() - begin);
}

nn::SeedTargets StepLoop::targets_of(std::size_t part, const sample::Batch& batch) {
    if (ground_.options.task == TaskKind::edge) {
        ground_.schedule.links(ground_.parts[part].id(), batch.key.step, places_);
        return pairs_.gather(batch, ground_.parts[part], ground_.links->divided.links[part].train,
                             places_);
    }
    if (ground_.links != nullptr) return pairs_.gather(batch, ground_.links->seeds->group());
    return targets_.gather(ground_.parts[part], std::span(batch.vertices).subspan(0, batch.seeds));
}

void StepLoop::give_back(const MemoryShortage& shortage) {
    if (all_given_back_) return;
    sample::LookAhead& ahead = pipeline_.look_ahead();
    const std::uint64_t waiting = std::min(queue_bytes_, ahead.waiting_bytes());
    const auto cut = buffer_.give_back();
    std::string given;
    if (cut) {
        given = fmt::format("the buffer has {} instead of {}", format_bytes(cut->after),
                            format_bytes(cut->before));
    }
    if (waiting > 1 && ahead.waiting() > 1) {
        queue_bytes_ = waiting / 2;
        ahead.set_max_bytes(queue_bytes_);
        given += fmt::format("{}batches sampled ahead have {} at most", given.empty() ? "" : ", ",
                             format_bytes(queue_bytes_));
    }
    all_given_back_ = given.empty();
    log::warning(fmt::format("rank {}: {} of {} of memory are in use: {}", ground_.comm.rank(),
                             format_bytes(shortage.used), format_bytes(shortage.limit),
                             given.empty() ? "nothing is left to make smaller" : given));
}

void StepLoop::refuse_broken(const StepConsensus& consensus, std::uint64_t step) const {
    if (consensus.broken_part < 0 && std::isfinite(consensus.loss)) return;
    const auto part = static_cast<PartId>(std::max(consensus.broken_part, 0));
    const int rank = partition::rank_of(part, ground_.data.parts(), ground_.comm.size());
    throw Error(ErrorKind::failed, fmt::format("loss is NaN or infinite at step {}", step),
                fmt::format("rank {}, part {}", rank, part),
                "lower the learning rate (--lr), or clip the gradient (--clip 1)", rank);
}

}  // namespace rudder::train
