#include "rudder/train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <sys/resource.h>

#include "rudder/buffer/trace_writer.hpp"
#include "rudder/comm/together.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/interrupt.hpp"
#include "rudder/core/span.hpp"
#include "rudder/core/system.hpp"
#include "rudder/train/digest.hpp"
#include "rudder/train/pipeline.hpp"
#include "rudder/train/seed_targets.hpp"

#include "record_book.hpp"
#include "trainer_state.hpp"

namespace rudder {

namespace {

/// Steps after which records go to rank 0, at the latest.
constexpr std::size_t records_at_once = 256;

double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Seconds on the executor's clock.
class Stopwatch {
public:
    Stopwatch() : start_(Executor::current().now()) {}
    /// Seconds since the start or the last lap.
    double lap() {
        const Duration now = Executor::current().now();
        const double seconds = std::chrono::duration<double>(now - start_).count();
        start_ = now;
        return seconds;
    }

private:
    Duration start_;
};

/// One run of a trainer: what changes from step to step.
class Run {
public:
    Run(Trainer::State& state, TrainObserver& observer)
        : s_(state),
          observer_(observer),
          steps_(s_.schedule.steps_per_epoch() * s_.options.epochs),
          book_(s_.comm),
          trace_(make_trace()),
          buffer_(make_buffer()),
          pipeline_(s_.schedule, *s_.source, s_.store, s_.sampler_options(), look_ahead(),
                    s_.options.in_flight, buffer_.get()) {
        result_.steps_per_epoch = s_.schedule.steps_per_epoch();
        result_.row_bytes = s_.store.format().row_bytes();
        result_.topology = s_.source->name();
    }

    TrainResult train();

private:
    [[nodiscard]] LookAheadOptions look_ahead() const;
    [[nodiscard]] std::unique_ptr<TraceWriter> make_trace() const;
    [[nodiscard]] std::unique_ptr<LiveBuffer> make_buffer() const;
    bool train_epoch(std::uint32_t epoch);
    StepConsensus train_step(StepRecord& record, Score& score);
    void compute(const AssembledStep& step, StepRecord& record, Score& score);
    void refuse_broken(const StepConsensus& consensus, std::uint64_t step) const;
    void finish_epoch(EpochRecord& epoch, const Score& score);
    void flush();
    void count_up(double cpu_before);

    Trainer::State& s_;
    TrainObserver& observer_;
    std::uint64_t steps_;
    RecordBook book_;
    std::unique_ptr<TraceWriter> trace_;  ///< on the first rank of each buffer, if asked for
    std::unique_ptr<LiveBuffer> buffer_;  ///< none if every row is pulled
    Pipeline pipeline_;
    Stopwatch step_watch_;
    AccountTotals accounts_;
    LossDigest digest_;
    SeedTargetReader targets_;
    std::vector<float> losses_;  ///< of the own parts
    RowCounts rows_;             ///< of this rank, so far
    StepSeconds seconds_;
    std::uint64_t edges_ = 0;
    TrainResult result_;
};

LookAheadOptions Run::look_ahead() const {
    LookAheadOptions options;
    options.window = steps_ahead(s_.options);
    options.last_step = steps_;
    options.max_bytes = s_.queue_limit();
    options.tasks = s_.options.sample_tasks;
    for (PartId p = s_.share.first; p < s_.share.last; ++p)
        options.parts.push_back(p);
    return options;
}

std::unique_ptr<TraceWriter> Run::make_trace() const {
    if (s_.options.trace.empty()) return nullptr;
    const bool alone = s_.options.buffer_scope == BufferScope::rank;
    s_.comm.barrier();  // the first rank has made the folder of the run
    std::unique_ptr<TraceWriter> trace;
    do_together(s_.comm, [&] {
        if (!alone && s_.comm.host().rank() != 0) return;
        const HostMap& hosts = s_.comm.hosts();
        const int here = s_.comm.global_rank(s_.comm.rank());
        TraceHeader header;
        header.host = static_cast<std::uint64_t>(alone ? here : hosts.host_of(here));
        header.hosts = static_cast<std::uint64_t>(alone ? s_.comm.size() : hosts.hosts());
        header.vertices = s_.data.info().vertices;
        header.steps_per_epoch = s_.schedule.steps_per_epoch();
        header.capacity = s_.buffer.slots;
        header.row_bytes = s_.store.format().row_bytes();
        header.precision = to_string(s_.options.precision);
        header.policy = s_.buffer.policy.text();
        header.graph = graph_checksum(s_.data.folder().path());
        header.seed = s_.options.seed;
        const HaloFacts& facts = s_.buffer.facts;
        trace = std::make_unique<TraceWriter>(s_.options.trace, header, facts.halo, facts.degree,
                                              facts.inclusion);
    });
    return trace;
}

std::unique_ptr<LiveBuffer> Run::make_buffer() const {
    const BufferSetup& setup = s_.buffer;
    if (!setup.used) return nullptr;
    LiveBufferOptions options{.policy = setup.policy,
                              .slots = setup.slots,
                              .floor_slots = setup.floor_slots,
                              .scope = s_.options.buffer_scope,
                              .last_step = steps_,
                              .vertices = s_.data.info().vertices,
                              .local = setup.local,
                              .parts = setup.parts,
                              .facts = setup.facts,
                              .record = {},
                              .keep_steps = s_.options.floor || !s_.options.trace.empty()};
    if (trace_ != nullptr)
        options.record = [this](std::span<const VertexId> ids) { trace_->step(ids); };
    return std::make_unique<LiveBuffer>(s_.comm, s_.store, std::move(options));
}

TrainResult Run::train() {
    const DeferInterrupts defer;
    const double cpu_before = cpu_seconds();
    Stopwatch whole;
    accounts_ = s_.comm.accounts();
    for (std::uint32_t epoch = 0; epoch < s_.options.epochs; ++epoch) {
        if (!train_epoch(epoch)) {
            result_.interrupted = true;
            break;
        }
    }
    rows_ += pipeline_.stop();
    result_.in_flight_bytes = pipeline_.row_bytes();
    if (buffer_ != nullptr) {
        result_.in_flight_bytes += buffer_->landing_bytes();
        result_.buffer_bytes = buffer_->slot_bytes();
        result_.capacity = s_.buffer.slots;
        if (s_.options.floor || !s_.options.trace.empty()) result_.floor = buffer_->floor();
    }
    if (trace_ != nullptr && !result_.interrupted) trace_->finish();
    result_.digest = digest_.value();
    s_.stop();
    result_.seconds = whole.lap();
    count_up(cpu_before);
    return std::move(result_);
}

/// False once all ranks have agreed to stop.
bool Run::train_epoch(std::uint32_t epoch) {
    EpochRecord record;
    record.epoch = epoch;
    record.steps = s_.schedule.steps_per_epoch();
    Score score;
    Stopwatch watch;
    for (std::uint64_t i = 0; i < record.steps; ++i) {
        StepRecord step;
        step.epoch = epoch;
        step.step = result_.steps;
        step.rank = static_cast<std::uint32_t>(s_.comm.rank());
        const StepConsensus consensus = train_step(step, score);
        record.loss += static_cast<double>(step.loss) / static_cast<double>(record.steps);
        if (result_.steps == 0) result_.first_loss = step.loss;
        result_.last_loss = step.loss;
        ++result_.steps;
        if (s_.comm.rank() == 0) observer_.step_done(step, steps_);
        book_.add(std::move(step));
        if (consensus.stop) {
            flush();
            return false;
        }
        if (book_.waiting() == records_at_once) flush();
    }
    record.seconds = watch.lap();
    finish_epoch(record, score);
    return true;
}

StepConsensus Run::train_step(StepRecord& record, Score& score) {
    const Span span("training");
    Stopwatch watch;
    AssembledStep& step = pipeline_.next();
    record.seconds.stall = watch.lap();
    compute(step, record, score);
    record.seconds.compute = watch.lap();
    const StepConsensus consensus = s_.exchange.finish(losses_, interrupted());
    record.seconds.reduce = watch.lap();
    refuse_broken(consensus, record.step);
    const double rate = s_.options.optimiser.learning_rate *
                        s_.learning_rate.factor(record.step, steps_, s_.schedule.steps_per_epoch());
    s_.optimiser->step(s_.network->weights(), s_.exchange.sum(), rate);
    record.seconds.compute += watch.lap();
    record.loss = consensus.loss;
    digest_.add(consensus.loss);
    record.rows = step.counts;
    record.bytes_by_owner = step.bytes_by_owner;
    record.policy = step.knobs.policy;
    record.window = step.knobs.window;
    record.capacity = step.knobs.capacity;
    record.seconds.sample = step.sampled.seconds;
    record.seconds.fetch = step.fetch_seconds;
    for (const Batch& batch : step.sampled.batches)
        record.edges += batch.edges();
    pipeline_.release();
    AccountTotals now = s_.comm.accounts();
    for (std::size_t k = 0; k < kind_count; ++k)
        record.bytes[k] = now.received[k] - accounts_.received[k];
    accounts_ = std::move(now);
    record.seconds.step = step_watch_.lap();
    rows_ += record.rows;
    seconds_ += record.seconds;
    edges_ += record.edges;
    return consensus;
}

/// Each own part in turn; what the last one completes is reduced while it goes on.
void Run::compute(const AssembledStep& step, StepRecord& record, Score& score) {
    const Span span("computing");
    const float weight = 1.0F / static_cast<float>(s_.schedule.seed_count(record.step));
    losses_.assign(s_.parts.size(), 0.0F);
    for (std::size_t i = 0; i < s_.parts.size(); ++i) {
        const Batch& batch = step.sampled.batches[i];
        const std::span<const VertexId> seeds = std::span(batch.vertices).subspan(0, batch.seeds);
        const bool last = i + 1 == s_.parts.size();
        const BatchResult result =
            s_.network->train(batch, step.rows[i], targets_.gather(s_.parts[i], seeds), weight,
                              s_.exchange.gradient(i), [&](std::size_t bucket) {
                                  if (last) s_.exchange.bucket_ready(bucket);
                              });
        losses_[i] = result.loss;
        score.correct += result.correct;
        score.answers += result.answers;
    }
}

void Run::refuse_broken(const StepConsensus& consensus, std::uint64_t step) const {
    if (consensus.broken_part < 0 && std::isfinite(consensus.loss)) return;
    const auto part = static_cast<PartId>(std::max(consensus.broken_part, 0));
    const int rank = rank_of(part, s_.data.parts(), s_.comm.size());
    throw Error(ErrorKind::failed, fmt::format("the loss is no number at step {}", step),
                fmt::format("rank {}, part {}", rank, part),
                "lower the learning rate (--lr), or clip the gradient (--clip 1)");
}

void Run::finish_epoch(EpochRecord& epoch, const Score& score) {
    flush();
    for (const auto& each : s_.comm.all_gather(std::span<const Score>(&score, 1)))
        epoch.scores.train += each.front();
    const std::uint32_t every = s_.options.eval_every;
    const bool last = epoch.epoch + 1 == s_.options.epochs;
    if (every != 0 && ((epoch.epoch + 1) % every == 0 || last)) {
        Stopwatch watch;
        s_.evaluator->evaluate(*s_.network, epoch.scores);
        epoch.evaluation_seconds = watch.lap();
        step_watch_.lap();  // evaluation is no part of the next step
    }
    result_.epochs.push_back(epoch);
    const Scores& scores = epoch.scores;
    if (scores.evaluated) {
        const auto better = [&](const Scores& best) {
            if (s_.objective == Objective::regression) return scores.valid.loss < best.valid.loss;
            return scores.valid.share() > best.valid.share();
        };
        const auto index = static_cast<std::uint32_t>(result_.epochs.size() - 1);
        if (!result_.best_epoch || better(result_.epochs[*result_.best_epoch].scores)) {
            result_.best_epoch = index;
        }
    }
    if (s_.comm.rank() == 0) observer_.epoch_done(epoch, s_.options.epochs);
}

void Run::flush() {
    const auto records = book_.gather();
    if (s_.comm.rank() == 0) observer_.records(records);
}

/// Adds up what all ranks did; the sums are on rank 0.
void Run::count_up(double cpu_before) {
    const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
    const std::vector<double> own{number(rows_.needed),
                                  number(rows_.local),
                                  number(rows_.hit),
                                  number(rows_.demand),
                                  number(rows_.replacement),
                                  number(rows_.ahead),
                                  number(rows_.wasted),
                                  number(rows_.saved),
                                  seconds_.step,
                                  seconds_.sample,
                                  seconds_.fetch,
                                  seconds_.stall,
                                  seconds_.compute,
                                  seconds_.reduce,
                                  cpu_seconds() - cpu_before,
                                  number(edges_),
                                  number(peak_resident_bytes()),
                                  number(result_.in_flight_bytes),
                                  number(result_.buffer_bytes),
                                  number(result_.capacity),
                                  number(result_.floor.value_or(0))};
    const FinalReport report = close_accounts(s_.comm, s_.before, own);
    if (s_.comm.rank() != 0) return;
    result_.bytes = report.accounts.received;
    result_.received_total = report.accounts.received_total;
    result_.sent_total = report.accounts.sent_total;
    result_.in_flight_bytes = 0;
    result_.buffer_bytes = 0;
    result_.capacity = 0;
    if (result_.floor) result_.floor = 0;
    const auto count = [](double value) { return static_cast<std::uint64_t>(value); };
    for (const auto& e : report.extra) {
        result_.rows += RowCounts{count(e[0]), count(e[1]), count(e[2]), count(e[3]),
                                  count(e[4]), count(e[5]), count(e[6]), count(e[7])};
        result_.step_seconds += StepSeconds{e[8], e[9], e[10], e[11], e[12], e[13]};
        result_.cpu_seconds += e[14];
        result_.edges += count(e[15]);
        result_.peak_rss = std::max(result_.peak_rss, count(e[16]));
        result_.in_flight_bytes += count(e[17]);
        result_.buffer_bytes += count(e[18]);
        result_.capacity += count(e[19]);
        if (result_.floor) *result_.floor += count(e[20]);
    }
}

}  // namespace

TrainResult Trainer::run(TrainObserver& observer) {
    Run run(*state_, observer);
    return run.train();
}

}  // namespace rudder
