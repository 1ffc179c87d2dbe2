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

/// Rows that are decoded in one call.
constexpr std::size_t decoded_at_once = 256;

/// How many ranks share the buffer; 0: this one is alone.
std::size_t members(const comm::Communicator& comm, const LiveBufferOptions& options) {
    const bool shares = options.scope == BufferScope::host && comm.host().size() > 1;
    return shares ? static_cast<std::size_t>(comm.host().size()) : 0;
}

bool is_first(const comm::Communicator& comm, const LiveBufferOptions& options) {
    return members(comm, options) == 0 || comm.host().rank() == 0;
}

}  // namespace

std::string_view to_string(BufferScope scope) noexcept {
    return scope == BufferScope::host ? "host" : "rank";
}

/// What a step needs from its beginning to its end; kept for the steps to come.
struct StepWork {
    std::uint64_t number = 0;
    StepRows rows;
    SharedStep step;            ///< on the first rank
    RowSlots::Sources sources;  ///< the same
    OwnStep own;
    std::shared_ptr<Landing> landing;  ///< of a member
    std::vector<StepPiece> pieces;
    std::vector<const std::byte*> addresses;  ///< of one rank's rows

    void list_rows(const RankShare& share) {
        addresses.clear();
        for (const std::uint32_t position : share.positions)
            addresses.push_back(sources.rows[position]);
    }
};

BegunStep::BegunStep() noexcept = default;
BegunStep::BegunStep(std::unique_ptr<StepWork> work) noexcept : work_(std::move(work)) {}
BegunStep::BegunStep(BegunStep&&) noexcept = default;
BegunStep& BegunStep::operator=(BegunStep&&) noexcept = default;
BegunStep::~BegunStep() = default;

const StepRows& BegunStep::rows() const noexcept {
    return work_->rows;
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
    Monitor monitor;                               ///< guards what follows
    std::vector<std::unique_ptr<StepWork>> works;  ///< that no step uses
    Sight sight;                                   ///< see LiveBuffer::set_sight
    // Destroyed in the reverse order: tasks end before what they use goes.
    std::unique_ptr<BufferSteps> steps;      ///< on the first rank
    std::unique_ptr<HostExchange> exchange;  ///< where several share the buffer

    State(const comm::Communicator& comm, const store::FeatureStore& s, LiveBufferOptions o);
    void join(const comm::Communicator& host);
    [[nodiscard]] Knobs knobs() const;
    [[nodiscard]] std::unique_ptr<StepWork> take_work();
    [[nodiscard]] bool begin(StepWork& work, std::uint64_t ahead);
    void begin_member(StepWork& work, std::uint64_t ahead);
    /// So many steps after this one are published, or as many as there is room for.
    void look(std::uint64_t step, std::uint64_t ahead);
    /// Waits for the rows of a step; on the first rank, members get theirs.
    [[nodiscard]] bool receive(StepWork& work);
    void decode_all(StepWork& work, std::span<const store::RowsWanted> wants) const;
    void end(std::unique_ptr<StepWork> work);
    /// Remote rows to floats, on all threads.
    void decode(StepWork& work, std::span<const std::byte* const> rows,
                std::span<const store::RowsWanted> wants) const;
    void decode_piece(const StepPiece& piece, std::size_t remote, const OwnStep& own,
                      std::span<const std::byte* const> rows, float* out) const;
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
    if (is_first(comm, o)) {
        steps = std::make_unique<BufferSteps>(store, std::move(o), ranks, queue, turns, clocks);
        steps->set_look([this](std::uint64_t step, std::uint64_t ahead) {
            if (exchange) exchange->tell_ahead(ahead);
            look(step, ahead);
        });
    }
    if (shared) join(comm.host());
}

void LiveBuffer::State::join(const comm::Communicator& host) {
    HostExchange::Events events;
    events.published = [this](int member, std::uint64_t step, RankNeeds of) {
        queue.add(member, step, std::move(of));
    };
    events.wanted = [this](int member, std::uint64_t step) { turns.wanted(member, step); };
    events.looked = [this](int member, std::uint64_t step) { turns.looked(member, step); };
    events.look = [this](std::uint64_t step, std::uint64_t ahead) { look(step, ahead); };
    events.failed = [this](const std::exception_ptr& error) { turns.fail(error); };
    exchange = std::make_unique<HostExchange>(host, store.format().row_bytes(), std::move(events));
    if (steps) exchange->tell_ahead(steps->steps_ahead());
}

std::unique_ptr<StepWork> LiveBuffer::State::take_work() {
    Monitor::Lock lock(monitor);
    if (works.empty()) return std::make_unique<StepWork>();
    std::unique_ptr<StepWork> work = std::move(works.back());
    works.pop_back();
    return work;
}

void LiveBuffer::State::look(std::uint64_t step, std::uint64_t ahead) {
    Sight far;
    {
        Monitor::Lock lock(monitor);
        far = sight;
    }
    if (far) far(step, ahead);
}

bool LiveBuffer::State::begin(StepWork& work, std::uint64_t ahead) {
    work.rows = {};
    if (!steps) {
        begin_member(work, ahead);
        return true;
    }
    if (!steps->begin(work.number, work.step, work.sources, work.rows)) return false;
    if (exchange) exchange->tell_ahead(steps->steps_ahead());
    work.rows.counts += work.step.shares.front().counts;
    steps->slots().ask(work.sources);
    queue.take_own(work.number, work.own);
    return true;
}

void LiveBuffer::State::begin_member(StepWork& work, std::uint64_t ahead) {
    queue.take_own(work.number, work.own);
    work.landing = pool->take(work.own.remote);
    const std::uint64_t told = exchange->want(work.number, work.landing, ahead);
    if (told <= ahead) return;
    look(work.number, told);
    exchange->looked(work.number + told);
}

bool LiveBuffer::State::receive(StepWork& work) {
    if (!steps) {
        Delivered mine;
        if (!exchange->wait(work.number, mine)) return false;
        work.rows.counts += mine.counts;
        work.rows.agent_seconds = mine.agent_seconds;
        work.rows.by_owner.assign(ranks, 0);
        return true;
    }
    steps->slots().wait(work.sources);
    for (int member = 1; exchange && member < exchange->size(); ++member) {
        const RankShare& share = work.step.shares[static_cast<std::size_t>(member)];
        work.list_rows(share);
        exchange->deliver(member, work.number, work.addresses,
                          {share.counts, work.rows.agent_seconds});
    }
    return true;
}

void LiveBuffer::State::decode_all(StepWork& work, std::span<const store::RowsWanted> wants) const {
    if (!steps) {
        work.addresses.resize(work.own.remote);
        for (std::size_t i = 0; i < work.addresses.size(); ++i)
            work.addresses[i] = work.landing->rows.data() + i * store.format().row_bytes();
    } else if (exchange) {
        work.list_rows(work.step.shares.front());
    }
    const bool alone = steps && !exchange;
    decode(work, alone ? work.sources.rows : work.addresses, wants);
}

void LiveBuffer::State::end(std::unique_ptr<StepWork> work) {
    if (steps) steps->slots().done(work->sources);
    work->landing.reset();
    Monitor::Lock lock(monitor);
    works.push_back(std::move(work));
}

void LiveBuffer::State::decode(StepWork& work, std::span<const std::byte* const> rows,
                               std::span<const store::RowsWanted> wants) const {
    work.pieces.clear();
    for (std::size_t b = 0; b < wants.size(); ++b)
        cut_batch(wants[b].vertices, b, work.pieces);
    parallel_chunks(work.pieces.size(), 1, [&](const Chunk& chunk) {
        const StepPiece& piece = work.pieces[chunk.index];
        float* out = wants[piece.batch].rows.data() + piece.first * store.format().row_floats();
        decode_piece(piece, work.own.before[chunk.index], work.own, rows, out);
    });
}

void LiveBuffer::State::decode_piece(const StepPiece& piece, std::size_t remote, const OwnStep& own,
                                     std::span<const std::byte* const> rows, float* out) const {
    const std::size_t row_floats = store.format().row_floats();
    std::array<const std::byte*, decoded_at_once> from{};
    std::array<VertexId, decoded_at_once> vertices{};
    std::array<float*, decoded_at_once> to{};
    std::size_t count = 0;
    const auto flush = [&] {
        store.format().decode_rows({from.data(), count}, {vertices.data(), count}, to.data());
        count = 0;
    };
    for (std::size_t i = 0; i < piece.vertices.size(); ++i) {
        if (queue.local().contains(piece.vertices[i])) continue;
        from[count] = rows[own.position(remote++)];
        vertices[count] = piece.vertices[i];
        to[count] = out + i * row_floats;
        if (++count == decoded_at_once) flush();
    }
    flush();
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

BegunStep LiveBuffer::begin(std::uint64_t step, std::uint64_t ahead) {
    std::unique_ptr<StepWork> work = state_->take_work();
    work->number = step;
    return state_->begin(*work, ahead) ? BegunStep(std::move(work)) : BegunStep();
}

void LiveBuffer::set_sight(Sight sight) {
    Monitor::Lock lock(state_->monitor);
    state_->sight.swap(sight);
}

bool LiveBuffer::assemble(BegunStep step, std::span<const store::RowsWanted> wanted,
                          StepRows& rows) {
    StepWork& work = *step.work_;
    state_->store.load_local(wanted);
    if (!state_->receive(work)) return false;
    state_->decode_all(work, wanted);
    rows = std::move(work.rows);
    state_->end(std::move(step.work_));
    return true;
}

Rows LiveBuffer::drop(BegunStep step) {
    StepWork& work = *step.work_;
    if (!state_->steps) return {};  // what comes of it is left over in the exchange
    static_cast<void>(state_->receive(work));
    Rows counts = work.rows.counts;
    counts.wasted += counts.demand;
    state_->end(std::move(step.work_));
    return counts;
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
    if (state_->steps) return state_->steps->steps_ahead();
    // The pilot is the first rank's: members do as it tells them.
    const auto told = state_->exchange->steps_ahead();
    return told.value_or(horizon_of(state_->policy));
}

Knobs LiveBuffer::knobs() const {
    return state_->knobs();
}

void LiveBuffer::limit(SlotId most) {
    if (state_->steps) state_->steps->limit(most);
}

void LiveBuffer::step_done(std::uint64_t step) {
    if (state_->steps) state_->steps->slots().forget_marks(step);
}

comm::CodedBytes LiveBuffer::received(std::uint64_t step) const {
    return state_->steps ? state_->steps->slots().received(step) : comm::CodedBytes{};
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
