#include "loader.hpp"

#include <algorithm>
#include <utility>

#include "core/span.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "train/ground.hpp"
#include "train/loader_run.hpp"
#include "train/steps/buffer_setup.hpp"
#include "train/steps/gradient_exchange.hpp"
#include "train/steps/pipeline.hpp"
#include "train/steps/run_buffer.hpp"
#include "train/steps/steering.hpp"
#include "train/steps/step_facts.hpp"
#include "train/steps/stopwatch.hpp"

namespace rudder::train {

namespace {

GroundUse use_of(const LoaderOptions& options) {
    if (!options.train.embeddings.empty()) {
        throw usage_error("loaders give the rows of the data set, and learned ones are not there",
                          "embeddings", "leave it out, and learn them in your own network");
    }
    return {.assembled = store::AssembledRows::dense,
            .role = options.role,
            .shuffled = options.shuffled};
}

/// Refuses what the numbers of edges need and this run lacks. Topologies are chosen by all ranks
/// alike.
void check_edge_numbers(const Ground& ground) {
    constexpr const char* where = "edge numbers";
    if (ground.links != nullptr) {
        throw usage_error("batches of links have no numbers of edges", where,
                          "leave them out: some edges are kept back from the graph that is drawn");
    }
    if (ground.options.temporal != sample::Temporal::off) {
        throw usage_error("batches by time have no numbers of edges", where,
                          "leave them out, or load without temporal");
    }
    if (ground.source->topology().vertices() == 0) {
        throw usage_error("numbers of edges need the whole topology on every host", where,
                          "leave them out, or choose topology replicated");
    }
}

/// Ranks meet in every step where an agent steers, which learns of the others then, where they
/// share a buffer, which needs all of them for a step, and where they are watched, whose records
/// are brought together. Collective; null: they do not.
std::unique_ptr<GradientExchange> make_facts_exchange(const Ground& ground,
                                                      const BufferSetup& setup, bool watched) {
    const TrainOptions& o = ground.options;
    const bool shared = setup.used && o.buffer_scope == buffer::BufferScope::host &&
                        ground.comm.all_max(ground.comm.host().size()) > 1;
    if (!steered(o) && !shared && !watched) return nullptr;
    return std::make_unique<GradientExchange>(
        ground.comm, ground.share, ground.data.parts(),
        GradientLayout{
            .size = 0, .buckets = {}, .extra = Steering::extra_floats(o, ground.comm.size())});
}

std::unique_ptr<Steering> make_steering(const Ground& ground, const BufferSetup& setup,
                                        const GradientExchange* exchange) {
    return exchange == nullptr ? nullptr : Steering::make(ground, setup, exchange->most_groups());
}

}  // namespace

/// In the order of construction; what is above must outlive what is below.
struct Loader::State {
    Ground ground;
    BufferSetup setup;
    std::unique_ptr<GradientExchange> exchange;  ///< null where ranks do not meet
    std::unique_ptr<Steering> steering;          ///< null where nobody steers
    RunBuffer buffer;
    Pipeline pipeline;
    std::shared_ptr<StepPool> pool;
    std::vector<float> losses;  ///< of each own part; zero unless somebody says
    Stopwatch step_watch;
    Stopwatch phase_watch;  ///< since the last phase of a step ended
    Stopwatch pace_watch;   ///< since ranks met last
    comm::Bytes received;   ///< by this rank, up to the last step
    LoaderStats stats;
    std::unique_ptr<LoaderRun> run;  ///< null where nobody watches
    TrainResult result;              ///< of that, in the end
    std::uint64_t next_step = 0;
    std::optional<StepRecord> open;          ///< of the step handed out
    std::optional<buffer::TimeKnobs> times;  ///< that were ordered before it
    double agent_seconds = 0;                ///< that it waited for an agent
    bool paused = true;                      ///< the next step begins when it is asked for
    bool edge_numbers;                       ///< are wanted
    std::unique_ptr<TypeSplit> split;        ///< null: the graph has one type
    bool closed = false;                     ///< this rank is done
    bool someone_goes_on = false;            ///< in the step that ranks met in last

    State(const comm::Communicator& comm, const partition::PartitionedDataset& data,
          const LoaderOptions& options)
        : ground(comm, data, options.train, use_of(options)),
          setup(set_up_buffer(ground)),
          exchange(make_facts_exchange(ground, setup, options.observer != nullptr)),
          steering(make_steering(ground, setup, exchange.get())),
          buffer(ground, setup, steering.get(), 0),
          pipeline(ground.schedule, *ground.source, ground.store, ground.sampler_options(),
                   look_ahead_of(ground, 0), ground.options.in_flight, buffer.live()),
          pool(std::make_shared<StepPool>(ground.options.in_flight + 2)),
          losses(ground.parts.size(), 0.0F),
          received(ground.comm.accounts().received),
          edge_numbers(options.edge_numbers) {
        stats.row_bytes = ground.store.format().row_bytes();
        if (edge_numbers) check_edge_numbers(ground);
        if (ground.types != nullptr) split_types();
        if (options.observer != nullptr) {
            run = std::make_unique<LoaderRun>(ground, setup, buffer, steering.get(),
                                              *options.observer);
        }
    }

    void split_types() {
        const partition::PartitionedDataset& data = ground.data;
        split = std::make_unique<TypeSplit>(data.info(), data.book(), data.types());
        if (edge_numbers)
            split->number_edges(ground.source->topology(), ground.source->edge_types());
    }

    void skip_time() {
        const Duration now = Executor::current().now();
        step_watch.lap(now);
        phase_watch.lap(now);
        pace_watch.lap(now);
        if (run != nullptr) run->begin_epoch();
    }
    [[nodiscard]] std::shared_ptr<LoadedStep> next();
    void pass_over_rest();
    void take(AssembledStep& step, LoadedStep& loaded);
    void fill(LoadedStep& loaded) const;
    void fill_links(std::size_t part, const sample::Batch& batch, LoadedBatch& own) const;
    void finish_step();
    void meet(StepRecord& record);
};

/// Rows and batches go to who asked; in their place goes what the last user left.
void Loader::State::take(AssembledStep& step, LoadedStep& loaded) {
    std::swap(loaded.sampled, step.sampled);
    const std::size_t parts = loaded.sampled.batches.size();
    loaded.batches.resize(parts);
    step.memory.resize(std::max(step.memory.size(), parts));
    for (std::size_t i = 0; i < parts; ++i) {
        loaded.batches[i].rows = step.rows[i];
        std::swap(loaded.batches[i].memory, step.memory[i]);
    }
}

void Loader::State::fill(LoadedStep& loaded) const {
    for (std::size_t i = 0; i < loaded.batches.size(); ++i) {
        const sample::Batch& batch = loaded.sampled.batches[i];
        LoadedBatch& own = loaded.batches[i];
        if (split != nullptr) {
            split->split(batch, own.rows, own.types);
        } else {
            list_edges(batch, own);
        }
        if (ground.links != nullptr) {
            fill_links(i, batch, own);
            continue;
        }
        const auto seeds = std::span<const VertexId>(batch.vertices).first(batch.seeds);
        own.targets = own.reader.gather(ground.parts[i], seeds);
        own.positions.resize(seeds.size());
        ground.schedule.positions(seeds, ground.parts[i].id(), own.positions);
        if (edge_numbers && split == nullptr) number_edges(ground.source->topology(), batch, own);
    }
}

/// The pairs that are asked about, and which links they were drawn for.
void Loader::State::fill_links(std::size_t part, const sample::Batch& batch,
                               LoadedBatch& own) const {
    list_pairs(batch, ground.links->seeds->group(), own);
    if (split != nullptr) {
        for (std::int64_t& end : own.pairs)
            end = own.types.places[static_cast<std::size_t>(end)];
    }
    const PartId id = ground.parts[part].id();
    own.places.clear();
    if (batch.seeds != 0) ground.schedule.links(id, batch.key.step, own.places);
    std::uint64_t before = 0;
    for (PartId p = 0; p < id; ++p)
        before += ground.schedule.training_vertices(p);
    own.positions.resize(own.places.size());
    for (std::size_t i = 0; i < own.places.size(); ++i)
        own.positions[i] = static_cast<std::int64_t>(before + own.places[i]);
}

/// Ranks tell each other what a Trainer's would with the gradients, and whether they go on.
void Loader::State::meet(StepRecord& record) {
    if (exchange == nullptr) return;
    Seconds& seconds = record.seconds;
    if (steering != nullptr && times) steering->share_times(*times);
    if (steering != nullptr) steering->send(record.step, record.rows, exchange->extra());
    const double agent = std::min(agent_seconds, seconds.stall);
    const StepPace pace{
        .rows = seconds.stall - agent, .agent = agent, .ready = pace_watch.passed()};
    const StepConsensus consensus = exchange->finish(losses, {.records = !closed}, pace);
    std::ranges::fill(losses, 0.0F);
    record.loss = consensus.loss;
    someone_goes_on = consensus.records;
    seconds.reduce = phase_watch.lap();
    pace_watch.lap();
    divide_waits(seconds, pace, consensus.slowest);
    if (steering != nullptr) steering->receive(record.step, exchange->extra_sum(), pipeline);
}

void Loader::State::finish_step() {
    if (!open) return;
    StepRecord record = *std::exchange(open, std::nullopt);
    Seconds& seconds = record.seconds;
    seconds.compute = phase_watch.lap();
    seconds.wait_rows = seconds.stall;
    meet(record);
    pipeline.release();
    if (buffer.live() != nullptr) buffer.live()->step_done(record.step);
    const comm::Bytes now(ground.comm.accounts().received);
    record.bytes = now - received;
    received = now;
    const Duration end = Executor::current().now();
    seconds.rest += phase_watch.lap(end);
    seconds.step = step_watch.lap(end);
    if (steering != nullptr) steering->step_done(record);
    buffer.adapt_window(seconds, pipeline);
    stats.steps += 1;
    stats.rows += record.rows;
    stats.bytes += record.bytes;
    stats.seconds += seconds;
    stats.edges += record.edges;
    if (record.buffered) stats.knobs = record.knobs;
    if (run != nullptr) run->add(std::move(record));
}

namespace {

/// Whoever computes on what a loader gives is not told what edges carry.
const partition::PartitionedDataset& loadable(const partition::PartitionedDataset& data,
                                              const LoaderOptions& options) {
    if (options.train.edge_features) {
        throw usage_error("loaders do not give the features of edges", "--edge-features",
                          "leave it out, and read them by the numbers of edges");
    }
    return data;
}

}  // namespace

Loader::Loader(const comm::Communicator& comm, const partition::PartitionedDataset& data,
               const LoaderOptions& options)
    : state_(std::make_unique<State>(comm, loadable(data, options), options)) {}

Loader::~Loader() = default;

std::uint64_t Loader::steps_per_epoch() const noexcept {
    return state_->ground.schedule.steps_per_epoch();
}

std::uint64_t Loader::step() const noexcept {
    return state_->next_step;
}

std::uint64_t Loader::seed_count() const noexcept {
    return state_->ground.schedule.seed_count(state_->next_step);
}

std::shared_ptr<LoadedStep> Loader::next() {
    State& s = *state_;
    RUDDER_CHECK(!s.closed);
    s.finish_step();
    return s.next_step < s.ground.steps() ? s.next() : nullptr;
}

std::shared_ptr<LoadedStep> Loader::State::next() {
    const Span span("loading", next_step);
    if (std::exchange(paused, false)) skip_time();
    ground.comm.transport().at_step(next_step);
    StepRecord record;
    record.step = next_step;
    record.epoch = ground.schedule.epoch_of(next_step);
    record.rank = static_cast<std::uint32_t>(ground.comm.rank());
    record.seconds.rest = phase_watch.lap();
    AssembledStep& step = pipeline.next();
    record.seconds.stall = phase_watch.lap();
    note_step(step, pipeline, record);
    times = step.times;
    agent_seconds = step.agent_seconds;
    std::shared_ptr<LoadedStep> loaded = pool->take();
    take(step, *loaded);
    fill(*loaded);
    record.seconds.rest += phase_watch.lap();
    open = std::move(record);
    ++next_step;
    return loaded;
}

void Loader::note_loss(std::size_t part, float loss) {
    if (!state_->open || part >= state_->losses.size()) return;
    state_->losses[part] = loss / static_cast<float>(state_->ground.data.parts());
}

void Loader::pause() {
    state_->finish_step();
    state_->paused = true;
}

void Loader::leave_epoch() {
    const std::uint64_t steps = steps_per_epoch();
    if (state_->closed || step() % steps == 0) return;
    state_->pipeline.look_ahead().pass_over((step() / steps + 1) * steps);
}

void Loader::skip_epoch() {
    leave_epoch();
    while (step() % steps_per_epoch() != 0)
        static_cast<void>(next());
    pause();
}

LoaderStats Loader::stats() const {
    const State& s = *state_;
    LoaderStats stats = s.stats;
    stats.buffer_bytes = s.setup.slots * stats.row_bytes;
    stats.policy_seconds = s.buffer.policy_seconds();
    if (s.closed && s.buffer.has_floor()) {
        ClosingFigures figures;
        s.buffer.close(figures);
        stats.floor = figures.floor;
    }
    return stats;
}

const TrainResult& Loader::result() const {
    RUDDER_CHECK(state_->closed && state_->run != nullptr);
    return state_->result;
}

const buffer::PolicySpec& Loader::policy() const noexcept {
    return state_->setup.policy;
}

/// Where ranks meet in steps, whoever is done first goes on with them until all are.
void Loader::State::pass_over_rest() {
    if (exchange == nullptr || ground.comm.size() == 1) return;
    do {
        if (next_step >= ground.steps()) return;
        static_cast<void>(next());
        finish_step();
    } while (someone_goes_on);
}

void Loader::close() {
    State& s = *state_;
    if (s.closed) return;
    s.finish_step();
    s.closed = true;
    s.pass_over_rest();
    const Rows unused = s.pipeline.stop();
    s.stats.rows += unused;
    if (s.run != nullptr) {
        s.run->end_steps();
    } else if (s.steering != nullptr) {
        static_cast<void>(s.steering->finish());
    }
    s.ground.stop();
    s.stats.bytes += comm::Bytes(s.ground.comm.accounts().received) - s.received;
    if (s.run != nullptr) s.result = s.run->close(unused, s.pipeline.row_bytes());
}

}  // namespace rudder::train
