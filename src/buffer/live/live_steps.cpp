// Taking steps: whose turn it is, what the policy makes of it, and where the rows go.
#include <algorithm>
#include <array>

#include "core/cpu_meter.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/span.hpp"

#include "live_state.hpp"

namespace rudder::buffer {

namespace {

constexpr std::size_t chunk_rows = 512;

std::vector<const std::byte*> rows_of(const RankShare& share, const RowSlots::Sources& sources) {
    std::vector<const std::byte*> rows;
    rows.reserve(share.positions.size());
    for (const std::uint32_t position : share.positions)
        rows.push_back(sources.rows[position]);
    return rows;
}

}  // namespace

void LiveBuffer::State::carry_out(const StepPlan& plan) {
    slots->plan_background(plan.replacement, numbering, extra.by_owner);
    slots->plan_background(plan.ahead, numbering, extra.by_owner);
    extra.counts.replacement += plan.replacement.size();
    extra.counts.ahead += plan.ahead.size();
}

void LiveBuffer::State::set_policy(const PolicySpec& policy) {
    if (ids) carry_out(ids->set_policy(policy));
    options.policy = policy;
}

void LiveBuffer::State::set_capacity(std::uint64_t rows) {
    const std::uint64_t most = options.slots;
    if (ids) carry_out(ids->set_capacity(static_cast<SlotId>(std::min(rows, most))));
}

std::uint64_t LiveBuffer::State::newly_wasted() {
    const std::uint64_t all = ids->accounts().wasted;
    return all - std::exchange(reported_wasted, all);
}

bool LiveBuffer::State::turn(std::uint64_t step) const {
    if (next != step || merged <= step) return false;
    for (std::size_t member = 1; member < wanted.size(); ++member) {
        if (wanted[member] <= step) return false;
    }
    return true;
}

bool LiveBuffer::State::wait_for_turn(Monitor::Lock& lock, std::uint64_t step) {
    monitor.wait(lock, "the buffer's turn",
                 [&] { return halted || failure != nullptr || turn(step); });
    if (failure != nullptr) std::rethrow_exception(failure);
    return !halted;
}

bool LiveBuffer::State::prepare(std::uint64_t step) {
    const auto end = [&] {
        Monitor::Lock lock(monitor);
        preparing = false;
        tell_pilot();
    };
    {
        Monitor::Lock lock(monitor);
        if (!wait_for_turn(lock, step)) return false;
        preparing = true;  // nobody else tells the pilot anything meanwhile
    }
    try {
        const CpuMeter all(bookkeeping);
        const CpuMeter meter(piloting);
        options.pilot->prepare(step);
    } catch (...) {
        end();
        throw;
    }
    end();
    return true;
}

const StepPlan& LiveBuffer::State::advance() {
    BufferPilot* pilot = options.pilot;
    if (pilot == nullptr) return ids->advance();
    Decision decision;
    {
        const CpuMeter meter(piloting);
        LiveControl control(*this);
        decision = pilot->before(next, control);
    }
    const StepPlan& plan = ids->advance(decision);
    const CpuMeter meter(piloting);
    pilot->after(next, ids->accounts());
    pilot_horizon = pilot->horizon();
    return plan;
}

bool LiveBuffer::State::begin(std::uint64_t number, SharedStep& step, RowSlots::Sources& sources,
                              StepRows& rows) {
    if (options.pilot != nullptr && !prepare(number)) return false;
    Monitor::Lock lock(monitor);
    if (!wait_for_turn(lock, number)) return false;
    const Span span("policy", number);
    const CpuMeter meter(bookkeeping);
    const StepPlan& plan = advance();
    step = std::move(shared.front());
    shared.pop_front();
    if (options.keep_steps) {
        history.insert(history.end(), step.rows.begin(), step.rows.end());
        history_ends.push_back(history.size());
    }
    if (options.record) record(step.rows);
    sources.demand_by_owner.assign(ranks, 0);
    if (Profiler::on()) slots->note_uses(plan, number);
    slots->plan_step(plan, step.rows, numbering, sources);
    carry_out(plan);
    rows = std::exchange(extra, {});
    rows.counts.wasted = newly_wasted();
    rows.knobs = knobs();
    extra.by_owner.assign(ranks, 0);
    for (std::size_t r = 0; r < ranks; ++r)
        rows.by_owner[r] += sources.demand_by_owner[r];
    for (RankShare& share : step.shares) {
        const auto first = plan.slots.begin();
        share.counts.demand =
            static_cast<std::uint64_t>(std::count(first + share.begin, first + share.end, no_slot));
        share.counts.hit = share.end - share.begin - share.counts.demand;
    }
    ++next;
    monitor.notify_all();
    return true;
}

void LiveBuffer::State::record(std::span<const RowKey> rows) const {
    std::vector<VertexId> vertices;
    for (const RowKey row : rows)
        vertices.push_back(numbering.vertex(row));
    options.record(vertices);
}

OwnStep LiveBuffer::State::take_own(std::uint64_t step) {
    Monitor::Lock lock(monitor);
    return std::move(own_steps.extract(step).mapped());
}

void LiveBuffer::State::add(const RankCounts& of, RowCounts& counts) {
    counts.needed += of.local + of.hit + of.demand;
    counts.local += of.local;
    counts.hit += of.hit;
    counts.demand += of.demand;
    counts.saved += of.saved;
}

bool LiveBuffer::State::assemble_first(const sample::SampledStep& step,
                                       std::span<const store::RowsWanted> wants, StepRows& rows) {
    SharedStep all;
    RowSlots::Sources sources;
    if (!begin(step.step, all, sources, rows)) return false;
    add(all.shares.front().counts, rows.counts);
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

bool LiveBuffer::State::assemble_member(const sample::SampledStep& step,
                                        std::span<const store::RowsWanted> wants, StepRows& rows) {
    const OwnStep own = take_own(step.step);
    const auto landing = pool->take(own.remote);
    exchange->want(step.step, landing);
    store.load_local(wants);
    RankCounts mine;
    if (!exchange->wait(step.step, mine)) return false;
    add(mine, rows.counts);
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

}  // namespace rudder::buffer
