#include "rudder/buffer/id_buffer.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <utility>

#include "rudder/buffer/residents.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::buffer {

namespace {

/// Rows that one thread looks up at a time.
constexpr std::size_t looked_up_at_once = std::size_t{1} << 13;

}  // namespace

Residents::Residents(SlotId slots, SlotId capacity)
    : row_of_(slots, no_row), free_(slots), capacity_(capacity) {
    RUDDER_CHECK(slots < no_slot && capacity <= slots);
    for (SlotId i = 0; i < slots; ++i)
        free_[i] = slots - 1 - i;
}

std::uint32_t Residents::look_up(std::span<const RowKey> rows,
                                 std::span<SlotId> out) const noexcept {
    std::uint32_t found = 0;
    const SlotId* slots = slot_of_.data();
    const auto find = [&](std::size_t i) {
        out[i] = slots[rows[i]];
        found += out[i] != no_slot ? 1U : 0U;
    };
    const std::size_t prefetched = rows.size() - std::min<std::size_t>(rows.size(), lead);
    for (std::size_t i = 0; i < prefetched; ++i) {
        __builtin_prefetch(slots + rows[i + lead]);
        find(i);
    }
    for (std::size_t i = prefetched; i < rows.size(); ++i)
        find(i);
    return found;
}

void Residents::set_capacity(SlotId capacity) {
    RUDDER_CHECK(capacity <= slots());
    capacity_ = capacity;
}

void Residents::sort_free() {
    RUDDER_CHECK(count_ == 0);
    std::ranges::sort(free_, std::greater{});
}

std::uint64_t Residents::bytes() const noexcept {
    return slot_of_.capacity() * sizeof(SlotId) + row_of_.capacity() * sizeof(RowKey) +
           free_.capacity() * sizeof(SlotId);
}

void StepPlan::clear() {
    slots.clear();
    hits = 0;
    leave.clear();
    admit.clear();
    replacement.clear();
    ahead.clear();
}

void Policy::begin(std::uint64_t /*step*/, StepPlan& /*fill*/) {}

void Policy::look_ahead(std::uint64_t /*step*/, std::span<const RowKey> /*rows*/) {}

bool Policy::retune(std::uint64_t /*step*/, const PolicySpec& /*spec*/) {
    return false;
}

IdBuffer::IdBuffer(const PolicySpec& spec, const PolicyFacts& facts, SlotId slots, SlotId capacity,
                   std::uint64_t first_step)
    : spec_(spec),
      facts_(facts),
      residents_(slots, capacity),
      next_(first_step),
      shown_(first_step),
      unused_(slots, 0) {
    start(make_policy(spec_, facts_, residents_));
    std::swap(fill_, plan_);
}

IdBuffer::IdBuffer(const IdBuffer& other)
    : spec_(other.spec_),
      facts_(other.facts_),
      residents_(other.residents_),
      policy_(other.policy_->clone(facts_, residents_)),
      published_(other.published_),
      next_(other.next_),
      shown_(other.shown_),
      fill_(other.fill_),
      plan_(other.plan_),
      unused_(other.unused_),
      accounts_(other.accounts_) {}

std::unique_ptr<IdBuffer> IdBuffer::clone() const {
    return std::unique_ptr<IdBuffer>(new IdBuffer(*this));
}

void IdBuffer::start(std::unique_ptr<Policy> policy) {
    residents_.know(facts_.rows->size());
    policy_ = std::move(policy);
    shown_ = next_;
    plan_.clear();
    policy_->begin(next_, plan_);
    account(plan_);
}

void IdBuffer::publish(std::uint64_t step, std::span<const RowKey> rows) {
    RUDDER_CHECK(step == next_ + published_.size());
    published_.push_back(rows);
}

const StepPlan& IdBuffer::advance(const Decision& decision) {
    RUDDER_CHECK(!published_.empty());
    residents_.know(facts_.rows->size());
    if (const std::uint64_t ahead = policy_->horizon(); ahead != 0) {
        while (shown_ - next_ < published_.size() && shown_ - next_ <= ahead) {
            policy_->look_ahead(shown_, published_[shown_ - next_]);
            ++shown_;
        }
    }
    const auto rows = published_.front();
    plan_.clear();
    fill_.clear();
    look_up(rows);
    policy_->advance(next_, rows, decision, plan_);
    ++accounts_.steps;
    accounts_.needed += rows.size();
    accounts_.hit += plan_.hits;
    accounts_.demand += rows.size() - plan_.hits;
    account(plan_);
    published_.pop_front();
    ++next_;
    if (shown_ < next_) shown_ = next_;
    return plan_;
}

/// Finds the step's rows and notes that they were of use; on all threads.
void IdBuffer::look_up(std::span<const RowKey> rows) {
    plan_.slots.resize(rows.size(), no_slot);
    if (residents_.count() == 0) return;
    std::atomic<std::uint32_t> hits{0};
    parallel_chunks(rows.size(), looked_up_at_once, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        const auto slots = std::span(plan_.slots).subspan(chunk.begin, count);
        hits += residents_.look_up(rows.subspan(chunk.begin, count), slots);
        for (const SlotId slot : slots) {
            if (slot != no_slot) unused_[slot] = 0;
        }
    });
    plan_.hits = hits;
}

void IdBuffer::account(const StepPlan& plan) {
    left_unused_.clear();
    for (const Placed& row : plan.leave) {
        accounts_.wasted += unused_[row.slot];
        left_unused_.push_back(unused_[row.slot]);
        unused_[row.slot] = 0;
    }
    for (const Placed& row : plan.replacement)
        unused_[row.slot] = 1;
    for (const Placed& row : plan.ahead)
        unused_[row.slot] = 1;
    accounts_.replacement += plan.replacement.size();
    accounts_.ahead += plan.ahead.size();
    RUDDER_CHECK_NORMAL(residents_.count() <= residents_.capacity());
}

const StepPlan& IdBuffer::set_policy(const PolicySpec& spec) {
    if (spec.name() == spec_.name() && policy_->retune(next_, spec)) {
        plan_.clear();
    } else {
        start(make_policy(spec, facts_, residents_));  // refuses before anything has changed
    }
    fill_.clear();
    spec_ = spec;
    return plan_;
}

const StepPlan& IdBuffer::set_capacity(SlotId capacity) {
    fill_.clear();
    plan_.clear();
    residents_.know(facts_.rows->size());
    residents_.set_capacity(capacity);
    policy_->capacity_changed(next_, plan_);
    account(plan_);
    return plan_;
}

const StepPlan& IdBuffer::cut(SlotId most) {
    set_capacity(0);
    residents_.sort_free();
    return set_capacity(most);
}

std::uint64_t IdBuffer::unused() const noexcept {
    return std::accumulate(unused_.begin(), unused_.end(), std::uint64_t{0});
}

std::uint64_t IdBuffer::bytes() const noexcept {
    return residents_.bytes() + policy_->bytes() + unused_.capacity();
}

}  // namespace rudder::buffer
