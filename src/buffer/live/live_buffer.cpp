#include "rudder/buffer/live_buffer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "live_state.hpp"

namespace rudder::buffer {

namespace {

constexpr std::array<std::string_view, 2> scope_names{"host", "rank"};

}  // namespace

std::string_view to_string(BufferScope scope) noexcept {
    return scope_names[static_cast<std::size_t>(scope)];
}

BufferScope buffer_scope(std::string_view name) {
    const auto found = std::ranges::find(scope_names, name);
    if (found == scope_names.end()) {
        throw usage_error(fmt::format("unknown scope '{}'", name), "--buffer-scope",
                          "known are host, rank");
    }
    return static_cast<BufferScope>(found - scope_names.begin());
}

std::uint64_t horizon_of(const PolicySpec& policy) {
    return policy.has("window") ? policy.whole("window") : 0;
}

LiveBuffer::State::State(const comm::Communicator& comm, const store::FeatureStore& s,
                         LiveBufferOptions o)
    : store(s),
      options(std::move(o)),
      ranks(static_cast<std::size_t>(comm.size())),
      local(options.local, options.parts),
      numbering(is_first(comm, options) ? RowNumbering(options.vertices, options.facts.halo)
                                        : RowNumbering(0, {})),
      distinct(numbering),
      own_numbering(shares(comm, options) ? options.vertices : 0, {}),
      own_distinct(own_numbering),
      pool(std::make_shared<LandingPool>(s.format().row_bytes())),
      merged(options.first_step),
      next(options.first_step),
      told(options.first_step),
      first_kept(options.first_step) {
    extra.by_owner.assign(ranks, 0);
    if (is_first(comm, options)) start();
    if (shares(comm, options)) join(comm.host());
}

bool LiveBuffer::State::shares(const comm::Communicator& comm, const LiveBufferOptions& options) {
    return options.scope == BufferScope::host && comm.host().size() > 1;
}

bool LiveBuffer::State::is_first(const comm::Communicator& comm, const LiveBufferOptions& options) {
    return !shares(comm, options) || comm.host().rank() == 0;
}

PolicyFacts LiveBuffer::State::facts() const {
    return {&numbering, options.facts.degree, options.facts.inclusion, {}, options.last_step};
}

void LiveBuffer::State::start() {
    ids = std::make_unique<IdBuffer>(options.policy, facts(), options.slots, options.slots,
                                     options.first_step);
    slots = std::make_unique<RowSlots>(store, options.slots);
    carry_out(ids->fill());
    if (options.keep_steps) remember(std::exchange(options.past, {}));
    if (options.pilot == nullptr) return;
    options.pilot->start(facts(), LiveControl(*this));
    pilot_horizon = options.pilot->horizon();
}

void LiveBuffer::State::remember(const TraceSteps& past) {
    history.resize(past.ids.size());
    numbering.number(past.ids, history);
    history_ends = past.ends;
    first_kept -= past.ends.size();
}

void LiveBuffer::State::join(const comm::Communicator& host) {
    needs.resize(static_cast<std::size_t>(host.size()));
    wanted.assign(needs.size(), 0);
    HostExchange::Events events;
    events.published = [this](int member, std::uint64_t step, RankNeeds of) {
        Monitor::Lock lock(monitor);
        needs[static_cast<std::size_t>(member)].emplace(step, std::move(of));
        merge();
    };
    events.wanted = [this](int member, std::uint64_t step) {
        Monitor::Lock lock(monitor);
        auto& mine = wanted[static_cast<std::size_t>(member)];
        mine = std::max(mine, step + 1);
        monitor.notify_all();
    };
    events.failed = [this](const std::exception_ptr& error) {
        Monitor::Lock lock(monitor);
        if (failure == nullptr) failure = error;
        monitor.notify_all();
    };
    exchange = std::make_unique<HostExchange>(host, store.format().row_bytes(), std::move(events));
}

LiveBuffer::LiveBuffer(const comm::Communicator& comm, const store::FeatureStore& store,
                       LiveBufferOptions options)
    : state_(std::make_unique<State>(comm, store, std::move(options))) {}

LiveBuffer::~LiveBuffer() = default;

void LiveBuffer::publish(const sample::SampledStep& step) {
    state_->publish(step);
}

bool LiveBuffer::assemble(const sample::SampledStep& step,
                          std::span<const store::RowsWanted> wanted, StepRows& rows) {
    rows = {};
    return first() ? state_->assemble_first(step, wanted, rows)
                   : state_->assemble_member(step, wanted, rows);
}

void LiveBuffer::halt() {
    {
        Monitor::Lock lock(state_->monitor);
        state_->halted = true;
        state_->monitor.notify_all();
    }
    if (state_->exchange) state_->exchange->halt();
}

RowCounts LiveBuffer::finish() {
    State& s = *state_;
    RowCounts rest;
    if (s.exchange) {
        s.exchange->finish();
        State::add(s.exchange->leftover(), rest);
    }
    rest.wasted = rest.demand;
    if (!first()) return rest;
    s.slots->finish();
    rest += s.extra.counts;
    rest.wasted += s.newly_wasted() + s.ids->unused();
    return rest;
}

void LiveBuffer::set_policy(const PolicySpec& policy) {
    Monitor::Lock lock(state_->monitor);
    state_->set_policy(policy);
}

void LiveBuffer::set_capacity(std::uint64_t rows) {
    Monitor::Lock lock(state_->monitor);
    state_->set_capacity(rows);
}

BufferKnobs LiveBuffer::State::knobs() const {
    const std::uint64_t window = horizon_of(options.policy);
    return {.policy = options.policy,
            .window = window,
            .ahead = std::max(window, pilot_horizon),
            .capacity = ids ? ids->residents().capacity() : 0};
}

BufferKnobs LiveBuffer::knobs() const {
    Monitor::Lock lock(state_->monitor);
    return state_->knobs();
}

std::uint64_t LiveBuffer::slot_bytes() const {
    return state_->slots ? state_->slots->slot_bytes() : 0;
}

std::uint64_t LiveBuffer::landing_bytes() const {
    return state_->pool->bytes() + (state_->slots ? state_->slots->landing_bytes() : 0);
}

double LiveBuffer::policy_seconds() const noexcept {
    const std::uint64_t all = state_->bookkeeping.load(std::memory_order_relaxed);
    return static_cast<double>(all) * 1e-9 - pilot_seconds();
}

double LiveBuffer::pilot_seconds() const noexcept {
    return static_cast<double>(state_->piloting.load(std::memory_order_relaxed)) * 1e-9;
}

std::uint64_t LiveBuffer::floor() const {
    const State& s = *state_;
    if (!first()) return 0;
    IdBuffer optimal(PolicySpec::parse("optimal"), s.facts(), s.options.floor_slots,
                     s.options.floor_slots, s.first_kept);
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < s.history_ends.size(); ++i) {
        optimal.publish(s.first_kept + i,
                        std::span(s.history).subspan(begin, s.history_ends[i] - begin));
        begin = s.history_ends[i];
    }
    for (std::size_t i = 0; i < s.history_ends.size(); ++i)
        optimal.advance();
    return optimal.accounts().fetched();
}

bool LiveBuffer::first() const noexcept {
    return !state_->exchange || state_->exchange->first();
}

}  // namespace rudder::buffer
