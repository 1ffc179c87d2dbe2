// Putting a run down and taking it up again; its end.
#include <algorithm>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/packed.hpp"
#include "core/span.hpp"
#include "core/system.hpp"
#include "rudder/core/parallel.hpp"
#include "steer/samples/sample_table.hpp"
#include "train/steps/run.hpp"

#include "checkpoint_keeper.hpp"

namespace rudder::train {

namespace {

constexpr std::size_t floats_per_chunk = std::size_t{1} << 18;

/// On all threads: training stands still meanwhile.
void copy_to(std::vector<float>& copy, std::span<const float> values) {
    copy.resize(values.size());
    parallel_chunks(values.size(), floats_per_chunk, [&](const Chunk& chunk) {
        std::copy_n(values.data() + chunk.begin, chunk.end - chunk.begin,
                    copy.data() + chunk.begin);
    });
}

/// Rank 0's values, everywhere.
template <class T>
void share(const comm::Communicator& comm, std::vector<T>& values) {
    std::uint64_t size = values.size();
    comm.broadcast(0, std::span(&size, 1));
    values.resize(size);
    comm.broadcast(0, std::span(values));
}

}  // namespace

bool Run::checkpoint_due_by_clock() const {
    return checkpoints_.keeper != nullptr && checkpoints_.every_seconds > 0 &&
           checkpoint_watch_.passed() >= checkpoints_.every_seconds;
}

/// The right answers of all ranks so far in this epoch.
void Run::gather_score() {
    for (const auto& each : s_.comm.all_gather(std::span<const Score>(&own_score_, 1)))
        state_.epoch_score += each.front();
    own_score_ = {};
}

void Run::copy_network(Checkpoint& checkpoint) {
    const auto parameters = s_.network->parameters();
    checkpoint.parameters.assign(parameters.begin(), parameters.end());
    copy_to(checkpoint.weights, s_.network->weights());
    const auto memory = s_.optimiser->memory();
    checkpoint.memory.resize(memory.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
        checkpoint.memory[i].name = memory[i].name;
        copy_to(checkpoint.memory[i].values, memory[i].values);
    }
    checkpoint.optimiser_steps = s_.optimiser->steps();
}

/// Pages that were never touched take longer to copy to than the copying: none are left to the
/// first checkpoint.
void Run::prepare_checkpoints() {
    if (checkpoints_.keeper == nullptr) return;
    Checkpoint memory = checkpoints_.keeper->take();
    copy_network(memory);
    if (checkpoints_.every_seconds > 0) copy_to(memory.under_evaluation, s_.network->weights());
    checkpoints_.keeper->keep(std::move(memory));
}

/// Collective; rank 0 writes. Training waits for a copy of the weights, no longer.
void Run::write_checkpoint() {
    const Span span("taking a checkpoint");
    checkpoint_watch_.lap();
    // Before the ranks meet: where there is a checkpoint, every trace reaches it.
    if (trace_ != nullptr) trace_->flush();
    flush();
    gather_score();
    state_.digest = digest_.value();
    if (checkpoints_.keeper == nullptr) return;
    Checkpoint checkpoint = checkpoints_.keeper->take();
    checkpoint.identity = {s_.network_options, s_.options, checkpoints_.data,
                           checkpoints_.data_checksum};
    checkpoint.state = state_;
    RunState& state = checkpoint.state;
    state.epoch_seconds += state_.step % steps_per_epoch() == 0 ? 0 : epoch_watch_.passed();
    state.metrics_bytes = observer_.metrics_bytes();
    state.counts.wall_seconds += whole_.passed();
    state.counts.cpu_seconds += process_cpu_seconds() - cpu_before_;
    // Rows fetched for steps that are not done belong to whoever does them.
    state.counts.bytes.features = state.counts.rows.fetched() * s_.store.format().row_bytes();
    copy_network(checkpoint);
    checkpoint.under_evaluation.clear();
    // At the end of an epoch the weights under evaluation are these; later they are others.
    if (pending_ && state_.step % steps_per_epoch() != 0)
        copy_to(checkpoint.under_evaluation, s_.evaluated);
    checkpoints_.keeper->write(std::move(checkpoint));
}

TrainResult Run::finish(bool interrupted) {
    finish_profile();
    if (const auto epoch = profile_.missing(); epoch && s_.comm.rank() == 0)
        log::warning(fmt::format("no profile: epoch {} was not trained by this run", *epoch));
    flush();
    ClosingFigures own{.unused = pipeline_.stop()};
    TrainResult result;
    if (steering_ != nullptr) {
        const auto last = steering_->gather(true);
        if (!last.empty()) observer_.decisions(last);
        result.agent = steering_->finish();
        result.samples = std::make_shared<steer::SampleTable>(steering_->samples());
    }
    if (pending_)
        static_cast<void>(s_.finish_evaluation());  // its tasks must end; its result waits
    if (checkpoints_.keeper != nullptr) checkpoints_.keeper->wait();
    result.interrupted = interrupted;
    result.stopped_early = state_.stopped_early;
    result.resumed_at = resumed_at_;
    result.steps = state_.step;
    result.steps_per_epoch = steps_per_epoch();
    result.row_bytes = s_.store.format().row_bytes();
    result.topology = s_.source->name();
    result.epochs = state_.epochs;
    result.best_epoch = state_.best_epoch;
    result.first_loss = state_.first_loss;
    result.last_loss = state_.last_loss;
    result.digest = digest_.value();
    own.in_flight_bytes = pipeline_.row_bytes();
    if (buffer_ != nullptr) {
        own.in_flight_bytes += buffer_->landing_bytes();
        own.buffer_bytes = buffer_->slot_bytes();
        own.policy_seconds = buffer_->policy_seconds();
        own.pilot_seconds = buffer_->pilot_seconds();
        own.capacity = s_.buffer.slots;
        if (s_.options.floor || !s_.options.trace.empty())
            result.floor = own.floor = buffer_->floor();
    }
    // Steps that were drawn past an early stop were not taken.
    if (trace_ != nullptr && !interrupted) trace_->finish(state_.step);
    s_.stop();
    count_up(own, result);
    return result;
}

/// Adds up what all ranks did and what was counted before; the sums are on rank 0.
void Run::count_up(ClosingFigures& own, TrainResult& result) {
    own.cpu_seconds = process_cpu_seconds() - cpu_before_;
    own.peak_rss = peak_resident_bytes();
    const FinalReport report = close_accounts(s_.comm, s_.before, own);
    const ClosingFigures& all = report.figures;
    result.seconds = state_.counts.wall_seconds + whole_.passed();
    if (s_.comm.rank() != 0) return;
    const RunCounts& before = s_.start.counts;
    result.rows = state_.counts.rows;
    result.rows += all.unused;
    result.step_seconds = state_.counts.seconds;
    result.edges = state_.counts.edges;
    result.cpu_seconds = before.cpu_seconds + all.cpu_seconds;
    result.received_total = report.accounts.received_total + before.bytes.total();
    result.sent_total = report.accounts.sent_total + before.bytes.total();
    result.bytes = before.bytes;
    result.bytes += report.accounts.received;
    result.peak_rss = all.peak_rss;
    result.in_flight_bytes = all.in_flight_bytes;
    result.buffer_bytes = all.buffer_bytes;
    result.capacity = all.capacity;
    if (result.floor) result.floor = all.floor;
    result.policy_seconds = all.policy_seconds;
    result.pilot_seconds = all.pilot_seconds;
}

void Trainer::resume(const Checkpoint* checkpoint) {
    const Span span("resuming");
    State& s = *state_;
    std::vector<std::byte> state;
    std::vector<float> weights;
    std::vector<float> under_evaluation;
    std::uint64_t steps = 0;
    if (checkpoint != nullptr) {
        state = packed(checkpoint->state);
        weights = checkpoint->weights;
        under_evaluation = checkpoint->under_evaluation;
        steps = checkpoint->optimiser_steps;
    }
    share(s.comm, state);
    share(s.comm, weights);
    share(s.comm, under_evaluation);
    s.comm.broadcast(0, std::span(&steps, 1));
    s.start = unpacked<RunState>(state);
    for (EpochRecord& epoch : s.start.epochs)
        epoch.regression = s.objective == nn::Objective::regression;
    s.expect_trace();
    RUDDER_CHECK(weights.size() == s.network->weights().size());
    std::ranges::copy(weights, s.network->weights().begin());
    s.unevaluated = under_evaluation.empty() ? weights : under_evaluation;
    for (const nn::Optimiser::Memory& memory : s.optimiser->memory()) {
        std::vector<float> values;
        if (checkpoint != nullptr) {
            const auto found =
                std::ranges::find(checkpoint->memory, memory.name, &NamedFloats::name);
            RUDDER_CHECK(found != checkpoint->memory.end());
            values = found->values;
        }
        share(s.comm, values);
        RUDDER_CHECK(values.size() == memory.values.size());
        std::ranges::copy(values, memory.values.begin());
    }
    s.optimiser->set_steps(steps);
}

}  // namespace rudder::train
