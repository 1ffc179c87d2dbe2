#include "run.hpp"

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/span.hpp"
#include "core/system.hpp"
#include "steer/helm/records.hpp"
#include "steer/samples/sample_table.hpp"

namespace rudder::train {

Run::Run(Trainer::State& trainer, TrainObserver& observer, const CheckpointPlan& checkpoints)
    : s_(trainer),
      observer_(observer),
      progress_(trainer.ground, trainer.learner, trainer.start),
      checkpoints_(checkpoints, trainer.ground.options, trainer.learner),
      buffer_(trainer.ground, trainer.buffer, trainer.steering.get(), trainer.start.step),
      records_(trainer.ground.comm, observer, buffer_, trainer.steering.get()),
      loop_(trainer.ground, trainer.learner, trainer.rows.get(), trainer.exchange, buffer_,
            trainer.steering.get(), trainer.start.step, trainer.start.digest),
      profile_(trainer.ground.comm, trainer.ground.options, progress_.epoch()),
      cpu_before_(process_cpu_seconds()) {}

TrainResult Run::train() {
    const DeferInterrupts defer;
    const std::string advice = redraw_advice(s_.ground.options, s_.ground.steps());
    if (!advice.empty() && s_.ground.comm.rank() == 0) log::warning(advice);
    // A run put down while an epoch was evaluated takes that up first.
    if (progress_.lacks_scores()) s_.evaluation.start(s_.unevaluated);
    bool interrupted = false;
    while (!progress_.done() && !interrupted)
        interrupted = !train_epoch();
    if (!interrupted) finish_evaluation();
    return finish(interrupted);
}

/// The rest of an epoch; false once all ranks have agreed to stop.
bool Run::train_epoch() {
    epoch_watch_.lap();
    profile_.begin(progress_.epoch());
    const auto wishes = [this] {
        return StepWishes{.stop = interrupted(),
                          .checkpoint = checkpoints_.due_by_clock(),
                          .records = records_.due_by_clock()};
    };
    do {
        StepRecord step;
        step.epoch = progress_.epoch();
        step.step = progress_.step();
        step.rank = static_cast<std::uint32_t>(s_.ground.comm.rank());
        const StepConsensus consensus = loop_.step(step, wishes, progress_.state().rate_factor);
        progress_.step_done(step.loss);
        if (s_.ground.comm.rank() == 0) observer_.step_done(step, s_.ground.steps());
        records_.add(std::move(step));
        const bool end = progress_.at_end_of_epoch();
        if (records_.full() || (consensus.records && !end)) records_.flush(progress_.counts());
        const bool due = consensus.checkpoint || (consensus.stop && checkpoints_.wanted());
        if (end) {
            finish_epoch(due);
            finish_profile();
        } else if (due) {
            write_checkpoint();
        }
        if (consensus.stop) return false;
    } while (!progress_.at_end_of_epoch());
    return true;
}

/// The evaluation of the epoch before is waited for here: what follows from it takes effect at this
/// step and no other. `checkpoint_due`: whatever the epoch says.
void Run::finish_epoch(bool checkpoint_due) {
    records_.flush(progress_.counts());
    gather_score();
    const EpochRecord epoch = progress_.ended_epoch(epoch_watch_.lap());
    finish_evaluation();
    progress_.add_epoch(epoch);
    if (agreed_to_evaluate()) {
        Stopwatch watch;
        s_.evaluation.start(s_.learner.weights());
        started_in_ = watch.passed();
        // Learned rows are no copy: they stay as they are until it is done.
        if (s_.rows != nullptr) finish_evaluation();
    } else {
        tell_epoch(epoch);
    }
    const bool due_here = progress_.done() || checkpoints_.due_after(epoch.epoch);
    if (checkpoint_due || (checkpoints_.wanted() && due_here)) write_checkpoint();
    loop_.skip_time();
}

/// How often depends on how long it takes, unless it was given: rank 0's clock decides.
bool Run::agreed_to_evaluate() const {
    std::uint8_t due = progress_.lacks_scores() ? 1 : 0;
    if (!s_.ground.options.eval_every) s_.ground.comm.broadcast(0, std::span(&due, 1));
    return due != 0;
}

void Run::finish_evaluation() {
    if (!s_.evaluation.pending()) return;
    Stopwatch watch;
    const Scores scores = s_.evaluation.finish();
    const bool best = progress_.add_scores(scores, started_in_ + watch.lap());
    const EpochRecord& epoch = progress_.state().epochs.back();
    if (best) {
        LearnedState learned;
        if (s_.rows != nullptr && checkpoints_.wanted()) learned = s_.rows->gather_values();
        checkpoints_.best(*best_step(progress_.state()), progress_.state(), s_.evaluation.weights(),
                          std::move(learned));
    }
    tell_epoch(epoch);
}

void Run::tell_epoch(const EpochRecord& epoch) {
    if (s_.ground.comm.rank() == 0) observer_.epoch_done(epoch, s_.ground.options.epochs);
}

void Run::finish_profile() {
    const auto profile = profile_.finish();
    if (profile) observer_.profile(*profile);
    loop_.skip_time();
}

/// The right answers of all ranks so far in this epoch.
void Run::gather_score() {
    const Score own = loop_.take_score();
    for (const auto& each : s_.ground.comm.all_gather(std::span(&own, 1)))
        progress_.add_score(each.front());
}

/// Collective; rank 0 writes.
void Run::write_checkpoint() {
    const Span span("taking a checkpoint");
    checkpoints_.begin();
    // Before the ranks meet: where there is a checkpoint, every trace reaches it.
    buffer_.flush_trace();
    records_.flush(progress_.counts());
    gather_score();
    const Steering::Standing agents =
        s_.steering != nullptr ? s_.steering->standing() : Steering::Standing{};
    const CheckpointFigures own{.cpu_seconds = process_cpu_seconds() - cpu_before_,
                                .policy_seconds = buffer_.policy_seconds(),
                                .pilot_seconds = buffer_.pilot_seconds(),
                                .rows = loop_.received_rows().travelled,
                                .but_rows = loop_.received_but_rows(),
                                .coding = loop_.decoded()};
    const auto all = s_.ground.comm.all_gather(std::span(&own, 1));
    LearnedState learned = s_.rows != nullptr ? s_.rows->gather() : LearnedState();
    if (!checkpoints_.writes()) return;
    RunState state = progress_.state();
    state.digest = loop_.digest();
    state.epoch_seconds += progress_.at_end_of_epoch() ? 0 : epoch_watch_.passed();
    state.metrics_bytes = observer_.metrics_bytes();
    state.counts.wall_seconds += whole_.passed();
    // Rows fetched for steps that are not done belong to whoever does them.
    state.counts.bytes.features = s_.start.counts.bytes.features;
    for (const auto& of_rank : all)
        of_rank.front().add_to(state.counts);
    // At the end of an epoch the weights under evaluation are the network's; later they are others.
    const bool others = s_.evaluation.pending() && !progress_.at_end_of_epoch();
    std::vector<std::string> open = count_agents(agents, state);
    checkpoints_.write(std::move(state),
                       others ? s_.evaluation.weights() : std::span<const float>{}, std::move(open),
                       std::move(learned));
}

/// Adds what agents came to in the steps done: decisions by their records, of which these are not
/// told yet, and what has no record by their totals. Gives the lines of those records.
std::vector<std::string> Run::count_agents(const Steering::Standing& agents,
                                           RunState& state) const {
    std::vector<std::string> lines;
    steer::HelmTotals& counts = state.counts.agent;
    for (const steer::DecisionRecord& record : agents.open) {
        if (record.step >= state.step) continue;
        counts += steer::counts_of(record);
        lines.push_back(steer::log_line(record));
    }
    const steer::HelmTotals& before = s_.start.counts.agent;
    const steer::HelmTotals& now = agents.totals;
    counts.late = before.late + now.late;
    counts.breaker_openings = before.breaker_openings + now.breaker_openings;
    counts.mailbox_seconds = before.mailbox_seconds + now.mailbox_seconds;
    counts.waited_seconds = before.waited_seconds + now.waited_seconds;
    counts.cpu_seconds = before.cpu_seconds + now.cpu_seconds;
    counts.twin_rows = before.twin_rows + now.twin_rows;
    counts.built_in_rows = before.built_in_rows + now.built_in_rows;
    return lines;
}

TrainResult Run::finish(bool interrupted) {
    finish_profile();
    if (const auto epoch = profile_.missing(); epoch && s_.ground.comm.rank() == 0)
        log::warning(fmt::format("no profile: epoch {} was not trained by this run", *epoch));
    records_.flush(progress_.counts());
    ClosingFigures own{.unused = loop_.stop()};
    TrainResult result;
    if (Steering* steering = s_.steering.get(); steering != nullptr) {
        const auto last = steering->gather(true);
        if (!last.empty()) observer_.decisions(last);
        const auto prompts = steering->gather_prompts(true);
        if (!prompts.empty()) observer_.prompts(prompts);
        result.agent = steering->finish();
        result.agent.totals += s_.start.counts.agent;
        result.samples = std::make_shared<steer::SampleTable>(steering->samples());
    }
    // Its tasks must end; its result waits for whoever goes on.
    if (s_.evaluation.pending()) static_cast<void>(s_.evaluation.finish());
    checkpoints_.wait();
    const RunState& state = progress_.state();
    result.interrupted = interrupted;
    result.stopped_early = state.stopped_early;
    result.resumed_at = s_.start.step;
    result.steps = state.step;
    result.steps_per_epoch = s_.ground.schedule.steps_per_epoch();
    result.row_bytes = s_.ground.store.format().row_bytes();
    result.sparse = s_.ground.store.format().sparse() != nullptr;
    result.topology = s_.ground.source->name();
    result.epochs = state.epochs;
    result.best_epoch = state.best_epoch;
    result.first_loss = state.first_loss;
    result.last_loss = state.last_loss;
    result.digest = loop_.digest();
    own.in_flight_bytes = loop_.row_bytes();
    buffer_.close(own);
    if (buffer_.has_floor()) result.floor = own.floor;
    // Steps that were drawn past an early stop were not taken.
    if (!interrupted) buffer_.finish_trace(state.step);
    s_.ground.stop();
    count_up(own, result);
    return result;
}

/// Adds up what all ranks did and what was counted before; the sums are on rank 0.
void Run::count_up(ClosingFigures& own, TrainResult& result) {
    own.cpu_seconds = process_cpu_seconds() - cpu_before_;
    own.peak_rss = peak_resident_bytes();
    own.coding = s_.ground.coders.totals();
    const nn::DeviceTimes& device = loop_.device_times();
    own.device_upload = device.upload;
    own.device_kernels = device.kernels;
    own.device_waiting = device.waiting;
    own.device_staged = device.staged;
    const FinalReport report = close_accounts(s_.ground.comm, s_.ground.before, own);
    const ClosingFigures& all = report.figures;
    const RunCounts& counts = progress_.counts();
    result.seconds = counts.wall_seconds + whole_.passed();
    if (s_.ground.comm.rank() != 0) return;
    const RunCounts& before = s_.start.counts;
    result.rows = counts.rows;
    result.rows += all.unused;
    result.step_seconds = counts.seconds;
    result.edges = counts.edges;
    result.cpu_seconds = before.cpu_seconds + all.cpu_seconds;
    result.received_total = report.accounts.received_total + before.received_total;
    result.sent_total = report.accounts.sent_total + before.received_total;
    result.bytes = before.bytes;
    result.bytes += report.accounts.received;
    if (s_.ground.coders.used() || before.coding.features.messages != 0) {
        result.coding = before.coding;
        *result.coding += all.coding;
    }
    result.peak_rss = all.peak_rss;
    if (nn::Device* const used = s_.learner.device(); used != nullptr) {
        const nn::DeviceFacts facts = used->facts();
        result.device = fmt::format("cuda:{} {}, {}", facts.ordinal, facts.name, facts.products);
        result.device_times = {all.device_upload, all.device_kernels, all.device_waiting,
                               all.device_staged};
    }
    result.in_flight_bytes = all.in_flight_bytes;
    result.buffer_bytes = all.buffer_bytes;
    result.capacity = all.capacity;
    result.policy = s_.buffer.policy;
    result.learned = counts.learned;
    // Each learned row is another one in every step: the best possible policy fetches it, too.
    if (result.floor) result.floor = all.floor + counts.learned;
    result.policy_seconds = before.policy_seconds + all.policy_seconds;
    result.pilot_seconds = before.pilot_seconds + all.pilot_seconds;
}

}  // namespace rudder::train
