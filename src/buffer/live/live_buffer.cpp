#include "rudder/buffer/live_buffer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <map>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/span.hpp"

#include "host_exchange.hpp"
#include "row_slots.hpp"
#include "step_ids.hpp"

namespace rudder {

namespace {

constexpr std::array<std::string_view, 2> scope_names{"host", "rank"};
constexpr std::size_t chunk_rows = 512;

/// Adds the CPU time of the calling thread, while it lives, to a sum. The spans beside it are of
/// the clock, which also counts the time that other ranks of a busy machine take.
class CpuMeter {
public:
    explicit CpuMeter(std::atomic<std::uint64_t>& sum) : sum_(sum), start_(now()) {}
    ~CpuMeter() { sum_.fetch_add(now() - start_, std::memory_order_relaxed); }
    CpuMeter(const CpuMeter&) = delete;
    CpuMeter& operator=(const CpuMeter&) = delete;

private:
    static std::uint64_t now() noexcept {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
               static_cast<std::uint64_t>(time.tv_nsec);
    }
    std::atomic<std::uint64_t>& sum_;
    std::uint64_t start_;
};

/// A published step as this rank needs it.
struct OwnStep {
    std::vector<std::uint32_t> positions;  ///< by vertex of all batches, in its list of remote ids
    std::size_t remote = 0;                ///< distinct
};

/// What a rank has in a step of all who share the buffer.
struct RankShare {
    std::vector<std::uint32_t> positions;  ///< of its remote ids; empty: it is alone
    std::uint32_t begin = 0;               ///< rows it was the first to need
    std::uint32_t end = 0;
    RankCounts counts;
};

/// A published step as the buffer sees it.
struct SharedStep {
    std::vector<RowKey> rows;
    std::vector<RankShare> shares;
};

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

BufferCounts& BufferCounts::operator+=(const BufferCounts& other) {
    local += other.local;
    hit += other.hit;
    demand += other.demand;
    replacement += other.replacement;
    ahead += other.ahead;
    wasted += other.wasted;
    saved += other.saved;
    rows_by_owner.resize(std::max(rows_by_owner.size(), other.rows_by_owner.size()), 0);
    for (std::size_t r = 0; r < other.rows_by_owner.size(); ++r)
        rows_by_owner[r] += other.rows_by_owner[r];
    return *this;
}

std::uint64_t horizon_of(const PolicySpec& policy) {
    return policy.has("window") ? policy.whole("window") : 0;
}

struct LiveBuffer::State {
    const FeatureStore& store;
    LiveBufferOptions options;
    std::size_t ranks;
    LocalRows local;
    RowNumbering numbering;      ///< of the buffer's rows, on the first rank
    DistinctRows distinct;       ///< over the rows of a shared step
    RowNumbering own_numbering;  ///< of this rank's rows, where several share the buffer
    DistinctRows own_distinct;
    std::shared_ptr<LandingPool> pool;  ///< of members

    std::atomic<std::uint64_t> bookkeeping{0};  ///< nanoseconds of CPU

    Monitor monitor;  ///< guards what follows
    std::map<std::uint64_t, OwnStep> own_steps;
    std::vector<std::map<std::uint64_t, RankNeeds>> needs;  ///< by member: published, not merged
    std::vector<std::uint64_t> wanted;                      ///< by member: one past
    std::deque<SharedStep> shared;                          ///< published and not begun
    std::uint64_t merged;                                   ///< steps before it are in `shared`
    std::uint64_t next;                                     ///< the step to begin
    Decision decision;
    BufferCounts extra;  ///< of no step: fills and changes
    std::uint64_t reported_wasted = 0;
    std::uint64_t first_kept;  ///< the step that `history` begins with
    std::vector<RowKey> history;
    std::vector<std::uint64_t> history_ends;
    bool halted = false;
    std::exception_ptr failure;

    // Scratch of `publish`, which is one call at a time.
    std::vector<VertexId> remote_ids;
    std::vector<VertexId> local_ids;
    std::vector<std::uint32_t> places;
    std::vector<std::uint32_t> positions;

    // Destroyed in the reverse order: tasks end before what they use goes.
    std::unique_ptr<IdBuffer> ids;           ///< on the first rank
    std::unique_ptr<RowSlots> slots;         ///< on the first rank
    std::unique_ptr<HostExchange> exchange;  ///< where several share the buffer

    State(const Communicator& comm, const FeatureStore& s, LiveBufferOptions o)
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
          first_kept(options.first_step) {
        extra.rows_by_owner.assign(ranks, 0);
        if (is_first(comm, options)) start();
        if (shares(comm, options)) join(comm.host());
    }

    static bool shares(const Communicator& comm, const LiveBufferOptions& options) {
        return options.scope == BufferScope::host && comm.host().size() > 1;
    }

    static bool is_first(const Communicator& comm, const LiveBufferOptions& options) {
        return !shares(comm, options) || comm.host().rank() == 0;
    }

    [[nodiscard]] PolicyFacts facts() const {
        return {&numbering, options.facts.degree, options.facts.inclusion, {}, options.last_step};
    }

    void start() {
        ids = std::make_unique<IdBuffer>(options.policy, facts(), options.slots, options.slots,
                                         options.first_step);
        slots = std::make_unique<RowSlots>(store, options.slots);
        carry_out(ids->fill());
        if (options.keep_steps) remember(std::exchange(options.past, {}));
    }

    void remember(const TraceSteps& past) {
        history.resize(past.ids.size());
        numbering.number(past.ids, history);
        history_ends = past.ends;
        first_kept -= past.ends.size();
    }

    void join(const Communicator& host) {
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
        exchange =
            std::make_unique<HostExchange>(host, store.format().row_bytes(), std::move(events));
    }

    // ---- publishing ----

    void publish(const SampledStep& step) {
        const Span span("numbering rows");
        const CpuMeter meter(bookkeeping);
        OwnStep own;
        split(step, own);
        if (!exchange) {
            Monitor::Lock lock(monitor);
            publish_alone(own);
            own_steps.emplace(step.step, std::move(own));
            return;
        }
        RankNeeds of;
        std::vector<RowKey> rows;
        own_distinct.begin();
        number(own_distinct, rows, own);
        for (const RowKey row : rows)
            of.remote.push_back(own_numbering.vertex(row));
        of.local = local_ids;
        of.repeats = remote_ids.size() - rows.size();
        if (!exchange->first()) exchange->publish(step.step, of);
        Monitor::Lock lock(monitor);
        own_steps.emplace(step.step, std::move(own));
        if (!exchange->first()) return;
        needs.front().emplace(step.step, std::move(of));
        merge();
    }

    /// Tells remote ids from local ones.
    void split(const SampledStep& step, OwnStep& own) {
        remote_ids.clear();
        local_ids.clear();
        places.clear();
        std::uint32_t at = 0;
        for (const Batch& batch : step.batches) {
            for (const VertexId v : batch.vertices) {
                if (local.contains(v)) {
                    local_ids.push_back(v);
                } else {
                    remote_ids.push_back(v);
                    places.push_back(at);
                }
                ++at;
            }
        }
        own.positions.assign(at, no_position);
    }

    void number(DistinctRows& in, std::vector<RowKey>& rows, OwnStep& own) {
        positions.resize(remote_ids.size());
        in.add(remote_ids, rows, positions);
        for (std::size_t i = 0; i < places.size(); ++i)
            own.positions[places[i]] = positions[i];
        own.remote = rows.size();
    }

    void publish_alone(OwnStep& own) {
        SharedStep& step = shared.emplace_back();
        distinct.begin();
        number(distinct, step.rows, own);
        RankShare& share = step.shares.emplace_back();
        share.end = static_cast<std::uint32_t>(step.rows.size());
        local.begin();
        share.counts.local = local.add(local_ids);
        share.counts.saved =
            local_ids.size() - share.counts.local + remote_ids.size() - step.rows.size();
        ids->publish(merged++, step.rows);
    }

    /// Steps that all ranks have published become the buffer's, in the order of the parts.
    void merge() {
        while (std::ranges::all_of(needs, [&](const auto& of) { return of.contains(merged); })) {
            SharedStep& step = shared.emplace_back();
            distinct.begin();
            local.begin();
            for (auto& member : needs) {
                const RankNeeds of = std::move(member.extract(merged).mapped());
                RankShare& share = step.shares.emplace_back();
                share.begin = static_cast<std::uint32_t>(step.rows.size());
                share.positions.resize(of.remote.size());
                distinct.add(of.remote, step.rows, share.positions);
                share.end = static_cast<std::uint32_t>(step.rows.size());
                share.counts.local = local.add(of.local);
                share.counts.saved = of.local.size() - share.counts.local + of.repeats +
                                     of.remote.size() - (share.end - share.begin);
            }
            ids->publish(merged++, step.rows);
            monitor.notify_all();
        }
    }

    // ---- taking steps ----

    /// Rows to fetch that belong to no step.
    void carry_out(const StepPlan& plan) {
        slots->plan_background(plan.replacement, numbering, extra.rows_by_owner);
        slots->plan_background(plan.ahead, numbering, extra.rows_by_owner);
        extra.replacement += plan.replacement.size();
        extra.ahead += plan.ahead.size();
    }

    /// Rows that left unused since it was asked last.
    [[nodiscard]] std::uint64_t newly_wasted() {
        const std::uint64_t all = ids->accounts().wasted;
        return all - std::exchange(reported_wasted, all);
    }

    [[nodiscard]] bool turn(std::uint64_t step) const {
        if (next != step || merged <= step) return false;
        for (std::size_t member = 1; member < wanted.size(); ++member) {
            if (wanted[member] <= step) return false;
        }
        return true;
    }

    /// Waits for the step's turn and lets the policy take it. False if halted before.
    [[nodiscard]] bool begin(std::uint64_t number, SharedStep& step, RowSlots::Sources& sources,
                             BufferCounts& counts) {
        Monitor::Lock lock(monitor);
        monitor.wait(lock, "the buffer's turn",
                     [&] { return halted || failure != nullptr || turn(number); });
        if (failure != nullptr) std::rethrow_exception(failure);
        if (halted) return false;
        const Span span("policy");
        const CpuMeter meter(bookkeeping);
        step = std::move(shared.front());
        if (options.keep_steps) {
            history.insert(history.end(), step.rows.begin(), step.rows.end());
            history_ends.push_back(history.size());
        }
        if (options.record) record(step.rows);
        const StepPlan& plan = ids->advance(std::exchange(decision, {}));
        shared.pop_front();
        sources.demand_by_owner.assign(ranks, 0);
        slots->plan_step(plan, step.rows, numbering, sources);
        carry_out(plan);
        counts = std::exchange(extra, {});
        counts.wasted = newly_wasted();
        extra.rows_by_owner.assign(ranks, 0);
        for (std::size_t r = 0; r < ranks; ++r)
            counts.rows_by_owner[r] += sources.demand_by_owner[r];
        for (RankShare& share : step.shares) {
            const auto first = plan.slots.begin();
            share.counts.demand = static_cast<std::uint64_t>(
                std::count(first + share.begin, first + share.end, no_slot));
            share.counts.hit = share.end - share.begin - share.counts.demand;
        }
        ++next;
        monitor.notify_all();
        return true;
    }

    void record(std::span<const RowKey> rows) const {
        std::vector<VertexId> vertices;
        for (const RowKey row : rows)
            vertices.push_back(numbering.vertex(row));
        options.record(vertices);
    }

    [[nodiscard]] OwnStep take_own(std::uint64_t step) {
        Monitor::Lock lock(monitor);
        return std::move(own_steps.extract(step).mapped());
    }

    static void add(const RankCounts& of, BufferCounts& counts) {
        counts.local += of.local;
        counts.hit += of.hit;
        counts.demand += of.demand;
        counts.saved += of.saved;
    }

    [[nodiscard]] bool assemble_first(const SampledStep& step, std::span<const RowsWanted> wants,
                                      BufferCounts& counts) {
        SharedStep all;
        RowSlots::Sources sources;
        if (!begin(step.step, all, sources, counts)) return false;
        add(all.shares.front().counts, counts);
        slots->ask(sources);
        store.load_local(wants);
        slots->wait(sources);
        for (int member = 1; exchange && member < exchange->size(); ++member) {
            const RankShare& share = all.shares[static_cast<std::size_t>(member)];
            exchange->deliver(member, step.step, rows_of(share, sources), share.counts);
        }
        const OwnStep own = take_own(step.step);
        if (exchange) {
            decode(own, rows_of(all.shares.front(), sources), wants);
        } else {
            decode(own, sources.rows, wants);
        }
        slots->done(sources);
        return true;
    }

    [[nodiscard]] static std::vector<const std::byte*> rows_of(const RankShare& share,
                                                               const RowSlots::Sources& sources) {
        std::vector<const std::byte*> rows;
        rows.reserve(share.positions.size());
        for (const std::uint32_t position : share.positions)
            rows.push_back(sources.rows[position]);
        return rows;
    }

    [[nodiscard]] bool assemble_member(const SampledStep& step, std::span<const RowsWanted> wants,
                                       BufferCounts& counts) {
        const OwnStep own = take_own(step.step);
        const auto landing = pool->take(own.remote);
        exchange->want(step.step, landing);
        store.load_local(wants);
        RankCounts mine;
        if (!exchange->wait(step.step, mine)) return false;
        add(mine, counts);
        counts.rows_by_owner.assign(ranks, 0);
        std::vector<const std::byte*> rows(own.remote);
        for (std::size_t i = 0; i < rows.size(); ++i)
            rows[i] = landing->rows.data() + i * store.format().row_bytes();
        decode(own, rows, wants);
        return true;
    }

    /// Remote rows to floats, on all threads.
    void decode(const OwnStep& own, std::span<const std::byte* const> rows,
                std::span<const RowsWanted> wants) const {
        const std::size_t width = store.format().width();
        std::span<const std::uint32_t> left = own.positions;
        for (const RowsWanted& batch : wants) {
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
};

LiveBuffer::LiveBuffer(const Communicator& comm, const FeatureStore& store,
                       LiveBufferOptions options)
    : state_(std::make_unique<State>(comm, store, std::move(options))) {}

LiveBuffer::~LiveBuffer() = default;

void LiveBuffer::publish(const SampledStep& step) {
    state_->publish(step);
}

bool LiveBuffer::assemble(const SampledStep& step, std::span<const RowsWanted> wanted,
                          BufferCounts& counts) {
    counts = {};
    return first() ? state_->assemble_first(step, wanted, counts)
                   : state_->assemble_member(step, wanted, counts);
}

void LiveBuffer::halt() {
    {
        Monitor::Lock lock(state_->monitor);
        state_->halted = true;
        state_->monitor.notify_all();
    }
    if (state_->exchange) state_->exchange->halt();
}

BufferCounts LiveBuffer::finish() {
    State& s = *state_;
    BufferCounts rest;
    if (s.exchange) {
        s.exchange->finish();
        State::add(s.exchange->leftover(), rest);
    }
    rest.wasted = rest.demand;
    if (!first()) return rest;
    s.slots->finish();
    rest += s.extra;
    rest.wasted += s.newly_wasted() + s.ids->unused();
    return rest;
}

void LiveBuffer::set_policy(const PolicySpec& policy) {
    Monitor::Lock lock(state_->monitor);
    if (first()) state_->carry_out(state_->ids->set_policy(policy));
    state_->options.policy = policy;
}

void LiveBuffer::set_capacity(std::uint64_t rows) {
    if (!first()) return;
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    const std::uint64_t most = s.options.slots;
    s.carry_out(s.ids->set_capacity(static_cast<SlotId>(std::min(rows, most))));
}

void LiveBuffer::decide(const Decision& decision) {
    Monitor::Lock lock(state_->monitor);
    state_->decision = decision;
}

BufferKnobs LiveBuffer::knobs() const {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    return {s.options.policy.text(), horizon_of(s.options.policy),
            s.ids ? s.ids->residents().capacity() : 0};
}

std::uint64_t LiveBuffer::slot_bytes() const {
    return state_->slots ? state_->slots->slot_bytes() : 0;
}

std::uint64_t LiveBuffer::landing_bytes() const {
    return state_->pool->bytes() + (state_->slots ? state_->slots->landing_bytes() : 0);
}

double LiveBuffer::policy_seconds() const noexcept {
    return static_cast<double>(state_->bookkeeping.load(std::memory_order_relaxed)) * 1e-9;
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

}  // namespace rudder
