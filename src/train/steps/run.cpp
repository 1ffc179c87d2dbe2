#include "run.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "core/span.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"

namespace rudder::train {

namespace {

/// Steps after which records go to rank 0, at the latest.
constexpr std::size_t records_at_once = 256;
/// Seconds after which they do, so that who watches a run with long steps sees it go on.
constexpr double records_patience = 5;

}  // namespace

Run::Run(Trainer::State& trainer, TrainObserver& observer, const CheckpointPlan& checkpoints)
    : s_(trainer),
      observer_(observer),
      checkpoints_(checkpoints),
      state_(trainer.start),
      steps_(trainer.schedule.steps_per_epoch() * trainer.options.epochs),
      book_(trainer.comm),
      trace_(make_trace()),
      steering_(trainer.steering.get()),
      window_pilot_(make_window_pilot()),
      buffer_(make_buffer()),
      pipeline_(trainer.schedule, *trainer.source, trainer.store, trainer.sampler_options(),
                look_ahead(), trainer.options.in_flight, buffer_.get()),
      profile_(trainer.comm, trainer.options,
               static_cast<std::uint32_t>(state_.step / trainer.schedule.steps_per_epoch())),
      cpu_before_(process_cpu_seconds()),
      digest_(state_.digest),
      resumed_at_(state_.step) {}

sample::LookAheadOptions Run::look_ahead() const {
    sample::LookAheadOptions options;
    options.window = steps_ahead(s_.options);
    options.first_step = std::min(s_.start.step, steps_);
    options.last_step = steps_;
    options.max_bytes = s_.queue_limit();
    options.tasks = s_.options.sample_tasks;
    options.most_tasks = Steering::most_sample_tasks(s_.options);
    for (PartId p = s_.share.first; p < s_.share.last; ++p)
        options.parts.push_back(p);
    return options;
}

TrainResult Run::train() {
    const DeferInterrupts defer;
    prepare_checkpoints();
    received_ = comm::Bytes(s_.comm.accounts().received);
    // A run put down while an epoch was evaluated takes that up first.
    if (!state_.epochs.empty() && s_.evaluation_due(state_.epochs.back().epoch) &&
        !state_.epochs.back().scores.evaluated) {
        start_evaluation(s_.unevaluated);
    }
    bool interrupted = false;
    while (state_.step < steps_ && !state_.stopped_early && !interrupted)
        interrupted = !train_epoch();
    if (!interrupted) finish_evaluation();
    return finish(interrupted);
}

/// The rest of an epoch; false once all ranks have agreed to stop.
bool Run::train_epoch() {
    epoch_watch_.lap();
    profile_.begin(s_.schedule.epoch_of(state_.step));
    const std::uint64_t end = (state_.step / steps_per_epoch() + 1) * steps_per_epoch();
    while (state_.step < end) {
        StepRecord step;
        step.epoch = s_.schedule.epoch_of(state_.step);
        step.step = state_.step;
        step.rank = static_cast<std::uint32_t>(s_.comm.rank());
        const StepConsensus consensus = train_step(step);
        state_.epoch_loss +=
            static_cast<double>(step.loss) / static_cast<double>(steps_per_epoch());
        if (state_.step == 0) state_.first_loss = step.loss;
        state_.last_loss = step.loss;
        ++state_.step;
        if (s_.comm.rank() == 0) observer_.step_done(step, steps_);
        book_.add(std::move(step));
        if (book_.waiting() == records_at_once || (consensus.records && state_.step < end)) flush();
        if (consensus.stop && state_.step < end) {
            if (checkpoints_.wanted) write_checkpoint();
            return false;
        }
        if (consensus.checkpoint && state_.step < end) write_checkpoint();
        if (state_.step == end) {
            finish_epoch();
            finish_profile();
            if (consensus.stop) return false;
        }
    }
    return true;
}

StepConsensus Run::train_step(StepRecord& record) {
    const Span span("training", record.step);
    Stopwatch watch;
    AssembledStep& step = next_step(record.step);
    record.seconds.stall = watch.lap();
    compute(step, record);
    record.seconds.compute = watch.lap();
    if (steering_ != nullptr && step.times) steering_->share_times(*step.times);
    if (steering_ != nullptr) steering_->send(record.step, step.counts, s_.exchange.extra());
    const StepConsensus consensus =
        s_.exchange.finish(losses_, {.stop = interrupted(),
                                     .checkpoint = checkpoint_due_by_clock(),
                                     .records = records_due_by_clock()});
    record.seconds.reduce = watch.lap();
    if (steering_ != nullptr) steering_->receive(record.step, s_.exchange.extra_sum(), pipeline_);
    refuse_broken(consensus, record.step);
    update(record.step);
    record.seconds.compute += watch.lap();
    record.loss = consensus.loss;
    digest_.add(consensus.loss);
    record.rows = step.counts;
    record.bytes_by_owner = step.bytes_by_owner;
    note_knobs(step, record);
    record.seconds.sample = step.sampled.seconds;
    record.seconds.fetch = step.fetch_seconds;
    for (const sample::Batch& batch : step.sampled.batches)
        record.edges += batch.edges();
    pipeline_.release();
    const comm::Bytes now(s_.comm.accounts().received);
    record.bytes = now - received_;
    received_ = now;
    record.seconds.step = step_watch_.lap();
    if (steering_ != nullptr) steering_->step_done(record);
    adapt_window(record.seconds);
    return consensus;
}

AssembledStep& Run::next_step(std::uint64_t step) {
    const Span span("waiting for rows", step);
    return pipeline_.next();
}

/// Each own part in turn; what the last one completes is reduced while it goes on.
void Run::compute(const AssembledStep& step, StepRecord& record) {
    const Span span("computing", record.step);
    const float weight = 1.0F / static_cast<float>(s_.schedule.seed_count(record.step));
    losses_.assign(s_.parts.size(), 0.0F);
    for (std::size_t i = 0; i < s_.parts.size(); ++i) {
        const sample::Batch& batch = step.sampled.batches[i];
        const std::span<const VertexId> seeds = std::span(batch.vertices).subspan(0, batch.seeds);
        const bool last = i + 1 == s_.parts.size();
        const nn::BatchResult result =
            s_.network->train(batch, step.rows[i], targets_.gather(s_.parts[i], seeds), weight,
                              s_.exchange.gradient(i), [&](std::size_t bucket) {
                                  if (last) s_.exchange.bucket_ready(bucket);
                              });
        losses_[i] = result.loss;
        own_score_.correct += result.correct;
        own_score_.answers += result.answers;
    }
}

void Run::update(std::uint64_t step) {
    const Span span("updating", step);
    const double rate = s_.options.optimiser.learning_rate * state_.rate_factor *
                        s_.learning_rate.factor(step, steps_, steps_per_epoch());
    s_.network->absorb_statistics(s_.exchange.sum());
    s_.optimiser->step(s_.network->weights(), s_.exchange.sum(), rate);
}

void Run::refuse_broken(const StepConsensus& consensus, std::uint64_t step) const {
    if (consensus.broken_part < 0 && std::isfinite(consensus.loss)) return;
    const auto part = static_cast<PartId>(std::max(consensus.broken_part, 0));
    const int rank = partition::rank_of(part, s_.data.parts(), s_.comm.size());
    throw Error(ErrorKind::failed, fmt::format("loss is NaN or infinite at step {}", step),
                fmt::format("rank {}, part {}", rank, part),
                "lower the learning rate (--lr), or clip the gradient (--clip 1)", rank);
}

bool Run::records_due_by_clock() const {
    return s_.comm.rank() == 0 && records_watch_.passed() >= records_patience;
}

void Run::finish_profile() {
    const auto profile = profile_.finish();
    if (profile) observer_.profile(*profile);
    step_watch_.lap();  // that was no part of the next step
}

/// Records of all ranks come to rank 0, which counts them.
void Run::flush() {
    records_watch_.lap();
    auto records = book_.gather();
    share_knobs(records);
    const auto decisions =
        steering_ != nullptr ? steering_->gather(false) : std::vector<steer::DecisionRecord>{};
    if (s_.comm.rank() != 0) return;
    for (const StepRecord& record : records) {
        state_.counts.rows += record.rows;
        state_.counts.seconds += record.seconds;
        state_.counts.edges += record.edges;
        state_.counts.bytes += record.bytes;
    }
    const Span span("telling");
    observer_.records(records);
    if (!decisions.empty()) observer_.decisions(decisions);
}

TrainResult Trainer::run(TrainObserver& observer, const CheckpointPlan& checkpoints) {
    Run run(*state_, observer, checkpoints);
    return run.train();
}

}  // namespace rudder::train
