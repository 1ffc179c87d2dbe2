#include "buffer/live_buffer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/cpu_meter.hpp"
#include "core/span.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

#include "buffer_steps.hpp"

namespace rudder::buffer {

namespace {

constexpr std::size_t chunk_rows = 512;

/// How many ranks share the buffer; 0: this one is alone.
std::size_t members(const comm::Communicator& comm, const LiveBufferOptions& options) {
    const bool shares = options.scope == BufferScope::host && comm.host().size() > 1;
    return shares ? static_cast<std::size_t>(comm.host().size()) : 0;
}

bool is_first(const comm::Communicator& comm, const LiveBufferOptions& options) {
    return members(comm, options) == 0 || comm.host().rank() == 0;
}

std::vector<const std::byte*> rows_of(const RankShare& share, const RowSlots::Sources& sources) {
    std::vector<const std::byte*> rows;
    rows.reserve(share.positions.size());
    for (const std::uint32_t position : share.positions)
        rows.push_back(sources.rows[position]);
    return rows;
}

}  // namespace

std::string_view to_string(BufferScope scope) noexcept {
    return scope == BufferScope::host ? "host" : "rank";
}

/// One rank's side: what steps need (queue), when they begin (turns), what the policy makes of them
/// (steps, on the first rank), and where the rows go.
struct LiveBuffer::State {
    const store::FeatureStore& store;
    PolicySpec policy;  ///< at the start
    std::size_t ranks;
    std::shared_ptr<LandingPool> pool;  ///< of members
    BufferClocks clocks;
    StepTurns turns;
    StepQueue queue;
    // Destroyed in the reverse order: tasks end before what they use goes.
    std::unique_ptr<BufferSteps> steps;      ///< on the first rank
    std::unique_ptr<HostExchange> exchange;  ///< where several share the buffer

    State(const comm::Communicator& comm, const store::FeatureStore& s, LiveBufferOptions o);
    void join(const comm::Communicator& host);
    [[nodiscard]] Knobs knobs() const;
    [[nodiscard]] bool assemble_first(const sample::SampledStep& step,
                                      std::span<const store::RowsWanted> wants, StepRows& rows);
    [[nodiscard]] bool assemble_member(const sample::SampledStep& step,
                                       std::span<const store::RowsWanted> wants, StepRows& rows);
    /// Remote rows to floats, on all threads.
    void decode(const OwnStep& own, std::span<const std::byte* const> rows,
                std::span<const store::RowsWanted> wants) const;
};

LiveBuffer::State::State(const comm::Communicator& comm, const store::FeatureStore& s,
                         LiveBufferOptions o)
    : store(s),
      policy(o.policy),
      ranks(static_cast<std::size_t>(comm.size())),
      pool(std::make_shared<LandingPool>(s.format().row_bytes())),
      turns(o.first_step, members(comm, o)),
      queue(o, is_first(comm, o), members(comm, o), turns) {
    const bool shared = members(comm, o) > 0;
    if (is_first(comm, o))
        steps = std::make_unique<BufferSteps>(store, std::move(o), ranks, queue, turns, clocks);
    if (shared) join(comm.host());
}

void LiveBuffer::State::join(const comm::Communicator& host) {
    HostExchange::Events events;
    events.published = [this](int member, std::uint64_t step, RankNeeds of) {
        queue.add(member, step, std::move(of));
    };
    events.wanted = [this](int member, std::uint64_t step) { turns.wanted(member, step); };
    events.failed = [this](const std::exception_ptr& error) { turns.fail(error); };
    exchange = std::make_unique<HostExchange>(host, store.format().row_bytes(), std::move(events));
}

bool LiveBuffer::State::assemble_first(const sample::SampledStep& step,
                                       std::span<const store::RowsWanted> wants, StepRows& rows) {
    SharedStep all;
    RowSlots::Sources sources;
    if (!steps->begin(step.step, all, sources, rows)) return false;
    rows.counts += all.shares.front().counts;
    RowSlots& slots = steps->slots();
    slots.ask(sources);
    store.load_local(wants);
    slots.wait(sources);
    for (int member = 1; exchange && member < exchange->size(); ++member) {
        const RankShare& share = all.shares[static_cast<std::size_t>(member)];
        exchange->deliver(member, step.step, rows_of(share, sources), share.counts);
    }
    const OwnStep own = queue.take_own(step.step);
    if (exchange) {
        decode(own, rows_of(all.shares.front(), sources), wants);
    } else {
        decode(own, sources.rows, wants);
    }
    slots.done(sources);
    return true;
}

bool LiveBuffer::State::assemble_member(const sample::SampledStep& step,
                                        std::span<const store::RowsWanted> wants, StepRows& rows) {
    const OwnStep own = queue.take_own(step.step);
    const auto landing = pool->take(own.remote);
    exchange->want(step.step, landing);
    store.load_local(wants);
    Rows mine;
    if (!exchange->wait(step.step, mine)) return false;
    rows.counts += mine;
    rows.by_owner.assign(ranks, 0);
    std::vector<const std::byte*> from(own.remote);
    for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = landing->rows.data() + i * store.format().row_bytes();
    decode(own, from, wants);
    return true;
}

void LiveBuffer::State::decode(const OwnStep& own, std::span<const std::byte* const> rows,
                               std::span<const store::RowsWanted> wants) const {
    const std::size_t width = store.format().width();
    std::span<const std::uint32_t> left = own.positions;
    for (const store::RowsWanted& batch : wants) {
        const auto at = left.subspan(0, batch.vertices.size());
        left = left.subspan(batch.vertices.size());
        parallel_chunks(at.size(), chunk_rows, [&](const Chunk& chunk) {
            std::array<const std::byte*, chunk_rows> from{};
            std::array<float*, chunk_rows> to{};
            std::size_t count = 0;
            for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                if (at[i] == no_position) continue;
                from[count] = rows[at[i]];
                to[count++] = batch.rows.data() + i * width;
            }
            store.format().decode_rows({from.data(), count}, to.data());
        });
    }
}

LiveBuffer::LiveBuffer(const comm::Communicator& comm, const store::FeatureStore& store,
                       LiveBufferOptions options)
    : state_(std::make_unique<State>(comm, store, std::move(options))) {}

LiveBuffer::~LiveBuffer() = default;

void LiveBuffer::publish(const sample::SampledStep& step) {
    const Span span("numbering rows", step.step);
    const CpuMeter meter(state_->clocks.bookkeeping);
    state_->queue.publish(step, state_->exchange.get());
}

bool LiveBuffer::assemble(const sample::SampledStep& step,
                          std::span<const store::RowsWanted> wanted, StepRows& rows) {
    rows = {};
    return first() ? state_->assemble_first(step, wanted, rows)
                   : state_->assemble_member(step, wanted, rows);
}

void LiveBuffer::halt() {
    state_->turns.halt();
    if (state_->exchange) state_->exchange->halt();
}

Rows LiveBuffer::finish() {
    State& s = *state_;
    Rows rest;
    if (s.exchange) {
        s.exchange->finish();
        rest += s.exchange->leftover();
    }
    rest.wasted = rest.demand;
    if (s.steps) rest += s.steps->finish();
    return rest;
}

Knobs LiveBuffer::State::knobs() const {
    if (steps) return steps->knobs();
    return {.policy = policy, .capacity = 0};
}

std::uint64_t LiveBuffer::steps_ahead() const {
    return state_->steps ? state_->steps->steps_ahead() : horizon_of(state_->policy);
}

Knobs LiveBuffer::knobs() const {
    return state_->knobs();
}

std::uint64_t LiveBuffer::slot_bytes() const {
    return state_->steps ? state_->steps->slots().slot_bytes() : 0;
}

std::uint64_t LiveBuffer::landing_bytes() const {
    return state_->pool->bytes() + (state_->steps ? state_->steps->slots().landing_bytes() : 0);
}

double LiveBuffer::policy_seconds() const noexcept {
    const std::uint64_t all = state_->clocks.bookkeeping.load(std::memory_order_relaxed);
    return static_cast<double>(all) * 1e-9 - pilot_seconds();
}

double LiveBuffer::pilot_seconds() const noexcept {
    return static_cast<double>(state_->clocks.piloting.load(std::memory_order_relaxed)) * 1e-9;
}

std::uint64_t LiveBuffer::floor() const {
    return state_->steps ? state_->steps->floor() : 0;
}

bool LiveBuffer::first() const noexcept {
    return state_->steps != nullptr;
}

}  // namespace rudder::buffer
