// Putting a run down and taking it up again; its end.
#include <algorithm>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/log.hpp"
#include "core/system.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/span.hpp"
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
    const buffer::RowCounts& rows = state.counts.rows;
    state.counts.bytes[static_cast<std::size_t>(comm::Kind::features)] =
        (rows.demand + rows.replacement + rows.ahead) * s_.store.format().row_bytes();
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
    const buffer::RowCounts unused = pipeline_.stop();
    TrainResult result;
    if (steering_ != nullptr) {
        const auto last = steering_->gather(true);
        if (!last.empty()) observer_.decisions(last);
        result.agent = steering_->finish();
        result.samples = steering_->samples();
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
    result.in_flight_bytes = pipeline_.row_bytes();
    if (buffer_ != nullptr) {
        result.in_flight_bytes += buffer_->landing_bytes();
        result.buffer_bytes = buffer_->slot_bytes();
        result.policy_seconds = buffer_->policy_seconds();
        result.pilot_seconds = buffer_->pilot_seconds();
        result.capacity = s_.buffer.slots;
        if (s_.options.floor || !s_.options.trace.empty()) result.floor = buffer_->floor();
    }
    // Steps that were drawn past an early stop were not taken.
    if (trace_ != nullptr && !interrupted) trace_->finish(state_.step);
    s_.stop();
    count_up(unused, result);
    return result;
}

/// Adds up what all ranks did and what was counted before; the sums are on rank 0.
void Run::count_up(const buffer::RowCounts& unused, TrainResult& result) {
    const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
    const std::vector<double> own{number(unused.needed),
                                  number(unused.local),
                                  number(unused.hit),
                                  number(unused.demand),
                                  number(unused.replacement),
                                  number(unused.ahead),
                                  number(unused.wasted),
                                  number(unused.saved),
                                  process_cpu_seconds() - cpu_before_,
                                  number(peak_resident_bytes()),
                                  number(result.in_flight_bytes),
                                  number(result.buffer_bytes),
                                  number(result.capacity),
                                  number(result.floor.value_or(0)),
                                  result.policy_seconds,
                                  result.pilot_seconds};
    const FinalReport report = close_accounts(s_.comm, s_.before, own);
    result.seconds = state_.counts.wall_seconds + whole_.passed();
    if (s_.comm.rank() != 0) return;
    const RunCounts& before = s_.start.counts;
    result.rows = state_.counts.rows;
    result.step_seconds = state_.counts.seconds;
    result.edges = state_.counts.edges;
    result.cpu_seconds = before.cpu_seconds;
    result.received_total = report.accounts.received_total;
    result.sent_total = report.accounts.sent_total;
    for (std::size_t k = 0; k < comm::kind_count; ++k) {
        result.bytes[k] = before.bytes[k] + report.accounts.received[k];
        result.received_total += before.bytes[k];
        result.sent_total += before.bytes[k];
    }
    result.in_flight_bytes = 0;
    result.buffer_bytes = 0;
    result.policy_seconds = 0;
    result.pilot_seconds = 0;
    result.capacity = 0;
    if (result.floor) result.floor = 0;
    const auto count = [](double value) { return static_cast<std::uint64_t>(value); };
    for (const auto& e : report.extra) {
        result.rows += buffer::RowCounts{count(e[0]), count(e[1]), count(e[2]), count(e[3]),
                                         count(e[4]), count(e[5]), count(e[6]), count(e[7])};
        result.cpu_seconds += e[8];
        result.peak_rss = std::max(result.peak_rss, count(e[9]));
        result.in_flight_bytes += count(e[10]);
        result.buffer_bytes += count(e[11]);
        result.capacity += count(e[12]);
        if (result.floor) *result.floor += count(e[13]);
        result.policy_seconds += e[14];
        result.pilot_seconds += e[15];
    }
}

void Trainer::resume(const Checkpoint* checkpoint) {
    const Span span("resuming");
    State& s = *state_;
    std::vector<char> text;
    std::vector<float> weights;
    std::vector<float> under_evaluation;
    std::uint64_t steps = 0;
    if (checkpoint != nullptr) {
        const std::string json = to_json(checkpoint->state).dump();
        text.assign(json.begin(), json.end());
        weights = checkpoint->weights;
        under_evaluation = checkpoint->under_evaluation;
        steps = checkpoint->optimiser_steps;
    }
    share(s.comm, text);
    share(s.comm, weights);
    share(s.comm, under_evaluation);
    s.comm.broadcast(0, std::span(&steps, 1));
    s.start = run_state_from_json(parse_json(std::string(text.begin(), text.end()), "checkpoint"),
                                  "checkpoint");
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
