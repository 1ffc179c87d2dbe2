#include "guarded_buffer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/cpu_meter.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::buffer {

namespace {

/// Slots of a plan that one thread translates at a time.
constexpr std::size_t translated_at_once = std::size_t{1} << 14;
/// A try needs room for this share of a filling: less would be taken back at once.
constexpr SlotId least_share = 16;

/// Calls `f` with every row that a plan brings in; `rows` are the step's.
template <class F>
void for_entering(const StepPlan& plan, std::span<const RowKey> rows, F&& f) {
    for (const Admitted& row : plan.admit)
        f(rows[row.position], row.slot);
    for (const auto* list : {&plan.replacement, &plan.ahead}) {
        for (const Placed& row : *list)
            f(row.row, row.slot);
    }
}

/// Rows that a plan takes out of one set and another one holds (or does not), less those it brings
/// in: how much larger it makes what the other has and this one lacks.
std::int64_t lost(const StepPlan& plan, std::span<const RowKey> rows, const Residents& other,
                  bool held) {
    std::int64_t count = 0;
    for (const Placed& row : plan.leave)
        count += other.has(row.row) == held ? 1 : 0;
    for_entering(plan, rows, [&](RowKey row, SlotId) { count -= other.has(row) == held ? 1 : 0; });
    return count;
}

std::int64_t fetched(const IdBuffer& buffer) {
    return static_cast<std::int64_t>(buffer.accounts().fetched());
}

BufferChange whole(const BufferChange& change, const IdBuffer& buffer, SlotId most) {
    return {.policy = change.policy.value_or(buffer.spec()),
            .capacity = std::min(change.capacity.value_or(buffer.residents().capacity()), most)};
}

/// Makes a whole change, the policy first; shows what each part of it plans.
void make_change(IdBuffer& buffer, const BufferChange& change,
                 const GuardedBuffer::PlanSink& show) {
    if (*change.policy != buffer.spec()) show(buffer.set_policy(*change.policy));
    if (*change.capacity != buffer.residents().capacity())
        show(buffer.set_capacity(*change.capacity));
}

}  // namespace

GuardedBuffer::GuardedBuffer(const PolicySpec& spec, const PolicyFacts& facts, SlotId slots,
                             SlotId capacity, std::uint64_t first_step)
    : slots_(slots),
      facts_(facts),
      first_step_(first_step),
      ids_(std::make_unique<IdBuffer>(spec, facts, slots, capacity, first_step)) {}

void GuardedBuffer::guard(const GuardTerms& terms) {
    terms_ = terms;
    terms_->capacity = std::min(terms_->capacity, slots_);
    filling_ = terms_->capacity;
    if (ids_->spec() == terms_->built_in && ids_->residents().capacity() == terms_->capacity)
        return;
    rival_ =
        std::make_unique<IdBuffer>(terms_->built_in, facts_, slots_, terms_->capacity, first_step_);
    refill_ = 0;
    for (SlotId slot = 0; slot < slots_; ++slot) {
        const RowKey row = rival_->residents().row_at(slot);
        if (row != no_row && !ids_->residents().has(row)) ++refill_;
    }
    for (std::size_t i = 0; i < steps_.size(); ++i)
        rival_->publish(ids_->next_step() + i, steps_[i]);
}

std::uint64_t GuardedBuffer::horizon() const noexcept {
    return std::max(ids_->horizon(), rival_ ? rival_->horizon() : 0);
}

void GuardedBuffer::publish(std::uint64_t step, std::span<const RowKey> rows) {
    steps_.push_back(rows);
    ids_->publish(step, rows);
    if (rival_) rival_->publish(step, rows);
}

// ---- the account -------------------------------------------------------------------------------

std::int64_t GuardedBuffer::excess() const noexcept {
    return debt_ + (rival_ ? fetched(*ids_) - fetched(*rival_) : 0);
}

std::int64_t GuardedBuffer::allowance() const noexcept {
    const auto built_in = static_cast<double>(fetched(*ids_) - excess());
    return static_cast<std::int64_t>(std::floor(terms_->share * built_in)) + filling_;
}

bool GuardedBuffer::over(std::int64_t excess_and_refill) const noexcept {
    return terms_->holds && excess_and_refill > allowance();
}

GuardAccount GuardedBuffer::account() const {
    GuardAccount account;
    account.fetched = ids_->accounts().fetched();
    account.built_in = account.fetched - static_cast<std::uint64_t>(excess());
    account.refill = static_cast<std::uint64_t>(refill_);
    account.beside = rival_ != nullptr;
    account.cpu_seconds = static_cast<double>(nanoseconds()) * 1e-9;
    return account;
}

std::optional<Overruled> GuardedBuffer::take_overruled() {
    return std::exchange(overruled_, {});
}

void GuardedBuffer::overrule(Overruled::Kind kind, std::int64_t would_be) {
    overruled_ = Overruled{kind, fmt::format("{} rows more than the built-in rule, {} are allowed",
                                             std::max<std::int64_t>(would_be, 0), allowance())};
}

std::uint64_t GuardedBuffer::bytes() const noexcept {
    return ids_->bytes() + (rival_ ? rival_->bytes() : 0) + places_.capacity() * sizeof(SlotId);
}

// ---- changes -----------------------------------------------------------------------------------

void GuardedBuffer::change(const BufferChange& given, const PlanSink& planned) {
    const BufferChange change = whole(given, *ids_, slots_);
    if (*change.policy == ids_->spec() && *change.capacity == ids_->residents().capacity()) return;
    if (!terms_) return make(change, planned);
    const CpuMeter meter(spent_);
    if (*change.policy == terms_->built_in && *change.capacity == terms_->capacity) {
        if (!rival_) return make(change, planned);
        const StepPlan& plan = go_back({}, nullptr);
        if (planned) planned(plan);
        return;
    }
    if (!terms_->holds && rival_) return make(change, planned);
    const bool little = allowance() - excess() < terms_->capacity / least_share;
    if (terms_->holds && !rival_ && little) return overrule(Overruled::Kind::refused, excess());
    attempt(change, planned);
}

/// On a copy, for which nothing has been fetched. It takes the buffer's place where the account
/// allows it, and the buffer that of the built-in rule, unless that runs beside it already.
void GuardedBuffer::attempt(const BufferChange& change, const PlanSink& planned) {
    auto changed = ids_->clone();
    const Residents& beside = (rival_ ? *rival_ : *ids_).residents();
    std::int64_t refill = refill_;
    std::vector<StepPlan> plans;
    make_change(*changed, change, [&](const StepPlan& plan) {
        refill += lost(plan, {}, beside, true);
        plans.push_back(plan);
    });
    const std::int64_t would_be = excess() + fetched(*changed) - fetched(*ids_) + refill;
    if (over(would_be)) return overrule(Overruled::Kind::refused, would_be);
    if (!rival_) rival_ = std::move(ids_);
    ids_ = std::move(changed);
    refill_ = refill;
    if (!planned) return;
    for (const StepPlan& plan : plans)
        planned(in_place(plan));
}

void GuardedBuffer::make(const BufferChange& change, const PlanSink& planned) {
    make_change(*ids_, change, [&](const StepPlan& plan) {
        if (rival_) refill_ += lost(plan, {}, rival_->residents(), true);
        if (planned) planned(in_place(plan));
    });
}

void GuardedBuffer::cut(SlotId most, const PlanSink& planned) {
    RUDDER_CHECK(!followed_ && most <= slots_);
    slots_ = most;
    if (terms_) terms_->capacity = std::min(terms_->capacity, most);
    if (rival_) {
        ids_->set_capacity(0);
        rival_->set_capacity(0);
        debt_ += fetched(*ids_) - fetched(*rival_);
        rival_->stand_in(ids_->accounts());
        ids_ = std::move(rival_);
        refill_ = 0;
    }
    places_.clear();
    const SlotId capacity = terms_ ? terms_->capacity : ids_->residents().capacity();
    const StepPlan& plan = ids_->cut(std::min(capacity, most));
    if (planned) planned(plan);
}

// ---- steps -------------------------------------------------------------------------------------

void GuardedBuffer::follow() {
    if (!rival_ || std::exchange(followed_, true)) return;
    const CpuMeter meter(spent_);
    // What it takes in and the buffer does not hold is more to refill.
    refill_ -= lost(rival_->advance(), steps_.front(), ids_->residents(), false);
}

const StepPlan& GuardedBuffer::advance(const Decision& decision) {
    follow();
    followed_ = false;
    const auto rows = steps_.front();
    steps_.pop_front();
    before_ = ids_->accounts();
    const StepPlan& plan = ids_->advance(decision);
    if (!rival_) return in_place(plan);
    const CpuMeter meter(spent_);
    refill_ += lost(plan, rows, rival_->residents(), true);
    if (!over(excess() + refill_)) return in_place(plan);
    overrule(Overruled::Kind::went_back, excess() + refill_);
    return go_back(rows, &plan);
}

/// The plan as whoever keeps the rows has to carry it out.
const StepPlan& GuardedBuffer::in_place(const StepPlan& plan) {
    if (places_.empty()) return plan;
    placed_ = plan;
    parallel_chunks(placed_.slots.size(), translated_at_once, [&](const Chunk& chunk) {
        for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
            SlotId& slot = placed_.slots[i];
            if (slot != no_slot) slot = places_[slot];
        }
    });
    for (Admitted& row : placed_.admit)
        row.slot = places_[row.slot];
    for (auto* list : {&placed_.leave, &placed_.replacement, &placed_.ahead}) {
        for (Placed& row : *list)
            row.slot = places_[row.slot];
    }
    return placed_;
}

// ---- the way back ------------------------------------------------------------------------------

namespace {

constexpr std::uint32_t not_missed = 0xffffffffU;

/// Where rows lie, and which of them nobody has used yet, before a plan that is not carried out.
struct Here {
    std::vector<SlotId> place;         ///< by row
    std::vector<std::uint8_t> unused;  ///< by place
};

Here rows_here(const IdBuffer& buffer, std::span<const SlotId> places, std::span<const RowKey> rows,
               const StepPlan* discarded, RowKey known) {
    const auto place_of = [&](SlotId slot) { return places.empty() ? slot : places[slot]; };
    const Residents& residents = buffer.residents();
    Here here{std::vector<SlotId>(known, no_slot), std::vector<std::uint8_t>(residents.slots(), 0)};
    for (SlotId slot = 0; slot < residents.slots(); ++slot) {
        const RowKey row = residents.row_at(slot);
        if (row == no_row) continue;
        here.place[row] = place_of(slot);
        here.unused[place_of(slot)] = buffer.unused_at(slot) ? 1 : 0;
    }
    if (discarded == nullptr) return here;
    for_entering(*discarded, rows, [&](RowKey row, SlotId) { here.place[row] = no_slot; });
    for (std::size_t i = 0; i < discarded->leave.size(); ++i) {
        const Placed& row = discarded->leave[i];
        here.place[row.row] = place_of(row.slot);
        here.unused[place_of(row.slot)] = buffer.left_unused()[i];
    }
    return here;
}

/// The step reads what is here; the others are fetched for it. Their positions, by row.
std::vector<std::uint32_t> read_step(std::span<const RowKey> rows, Here& here, StepPlan& plan) {
    std::vector<std::uint32_t> missed(here.place.size(), not_missed);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const SlotId place = here.place[rows[i]];
        plan.slots.push_back(place);
        if (place == no_slot) {
            missed[rows[i]] = static_cast<std::uint32_t>(i);
        } else {
            ++plan.hits;
            here.unused[place] = 0;
        }
    }
    return missed;
}

/// Gives every slot of a buffer that takes over a place: rows that are here keep theirs, the rest
/// shares what is left, and is fetched unless the step does that.
std::vector<SlotId> share_places(IdBuffer& buffer, const Here& here,
                                 std::span<const std::uint32_t> missed, StepPlan& plan) {
    const Residents& residents = buffer.residents();
    std::vector<SlotId> places(residents.slots(), no_slot);
    std::vector<std::uint8_t> taken(residents.slots(), 0);
    for (SlotId slot = 0; slot < residents.slots(); ++slot) {
        const RowKey row = residents.row_at(slot);
        if (row == no_row || here.place[row] == no_slot) continue;
        places[slot] = here.place[row];
        taken[places[slot]] = 1;
        buffer.set_unused(slot, here.unused[places[slot]] != 0);
    }
    SlotId free = 0;
    for (SlotId slot = 0; slot < residents.slots(); ++slot) {
        if (places[slot] != no_slot) continue;
        while (taken[free] != 0)
            ++free;
        places[slot] = free++;
        const RowKey row = residents.row_at(slot);
        if (row == no_row) continue;
        const bool needed = missed[row] != not_missed;
        buffer.set_unused(slot, !needed);
        if (needed) {
            plan.admit.push_back({missed[row], places[slot]});
        } else {
            plan.replacement.push_back({row, places[slot]});
        }
    }
    return places;
}

}  // namespace

const StepPlan& GuardedBuffer::go_back(std::span<const RowKey> rows, const StepPlan* discarded) {
    Here here = rows_here(*ids_, places_, rows, discarded, facts_.rows->size());
    Rows accounts = discarded == nullptr ? ids_->accounts() : before_;
    placed_.clear();
    const auto missed = read_step(rows, here, placed_);
    for (RowKey row = 0; row < here.place.size(); ++row) {
        const SlotId place = here.place[row];
        if (place == no_slot || rival_->residents().has(row)) continue;
        placed_.leave.push_back({row, place});
        accounts.wasted += here.unused[place];
    }
    places_ = share_places(*rival_, here, missed, placed_);
    if (discarded != nullptr) {
        ++accounts.steps;
        accounts.needed += rows.size();
        accounts.hit += placed_.hits;
        accounts.demand += rows.size() - placed_.hits;
    }
    accounts.replacement += placed_.replacement.size();
    debt_ += static_cast<std::int64_t>(accounts.fetched()) - fetched(*rival_);
    rival_->stand_in(accounts);
    ids_ = std::move(rival_);
    refill_ = 0;
    RUDDER_CHECK_NORMAL(!over(debt_));
    return placed_;
}

}  // namespace rudder::buffer
