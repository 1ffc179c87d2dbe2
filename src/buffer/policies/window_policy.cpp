#include "window_policy.hpp"

#include <algorithm>
#include <array>

#include "rudder/core/check.hpp"
#include "rudder/core/checked.hpp"

#include "policies.hpp"
#include "signal.hpp"

namespace rudder::buffer {

WindowPolicy::WindowPolicy(const PolicyFacts& facts, Residents& residents, const WindowRules& rules)
    : ClonedPolicy(facts, residents), rules_(rules), counts_(rules.decay) {}

WindowRules WindowPolicy::rules_of(const PolicySpec& spec) {
    WindowRules rules;
    rules.window = spec.whole("window");
    // What it plans ahead the rule cannot look ahead: short windows need all they have.
    const std::uint64_t most = rules.window / (spec.given("distance") ? 2 : 8);
    rules.distance = std::min(spec.whole("distance"), most);
    rules.decay = spec.number("decay");
    rules.inclusion = spec.given("inclusion");
    return rules;
}

void WindowPolicy::know() {
    if (known() > rows_.size()) rows_.resize(known());
    counts_.know(known());
    beyond_.know(known());
}

bool WindowPolicy::complete() const noexcept {
    return facts_.steps != 0 && origin_ + taken_ + coming_.size() >= facts_.steps;
}

double WindowPolicy::worth(RowKey row) const noexcept {
    if (!rules_.inclusion) return counts_[row];
    return row < facts_.inclusion.size() ? facts_.inclusion[row] : 0;
}

void WindowPolicy::begin(std::uint64_t step, StepPlan& fill) {
    origin_ = step;
    plan_anew();
    drop_dead(fill);
}

// ---- what is coming ----------------------------------------------------------------------------

void WindowPolicy::look_ahead(std::uint64_t step, std::span<const RowKey> rows) {
    const Step at = narrow<Step>(step - origin_, "step");
    RUDDER_CHECK(at == taken_ + coming_.size() && at != never);
    know();
    if (spare_.empty()) spare_.emplace_back();
    coming_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    coming_.back().rows = rows;
    announce(at);
}

void WindowPolicy::announce(Step step) {
    Coming& now = coming(step);
    now.next.assign(now.rows.size(), never);
    now.flags.assign(now.rows.size(), 0);
    now.pending.clear();
    now.first = no_row;
    now.listed = 0;
    for (std::uint32_t i = 0; i < now.rows.size(); ++i) {
        Row& row = rows_[now.rows[i]];
        if (row.next_use == never) {
            row.next_use = step;
            if (row.kept) link(now.rows[i], step);
        } else {
            coming(row.last_step).next[row.last_position] = step;
        }
        row.last_step = step;
        row.last_position = i;
    }
}

void WindowPolicy::link(RowKey key, Step step) {
    Coming& at = coming(step);
    Row& row = rows_[key];
    row.before = no_row;
    row.after = at.first;
    if (at.first != no_row) rows_[at.first].before = key;
    at.first = key;
    ++at.listed;
    farthest_ = std::max(farthest_, step);
}

void WindowPolicy::unlink(RowKey key) {
    Row& row = rows_[key];
    Coming& at = coming(row.next_use);
    (row.before == no_row ? at.first : rows_[row.before].after) = row.after;
    if (row.after != no_row) rows_[row.after].before = row.before;
    --at.listed;
}

// ---- planning ----------------------------------------------------------------------------------

void WindowPolicy::plan_step() {
    const Step step = planned_;
    Coming& now = coming(step);
    plan_uses(step, now);
    ++planned_;
    plan_leaving(step);
    now.held = static_cast<std::uint32_t>(kept_);
    beyond_.tidy(2 * (std::size_t{residents_->capacity()} + now.rows.size()) + 1024,
                 [&](RowKey row) { return rows_[row].kept && rows_[row].next_use == never; });
}

void WindowPolicy::plan_uses(Step step, Coming& now) {
    const bool count = step >= counted_;
    if (count) {
        counted_ = step + 1;
        const double factor = counts_.step();
        if (factor != 1 && !rules_.inclusion) beyond_.scale(factor);
    }
    const bool all_known = complete();
    for (std::uint32_t i = 0; i < now.rows.size(); ++i) {
        const RowKey key = now.rows[i];
        Row& row = rows_[key];
        if (count) counts_.use(key);
        if (!row.kept) {
            now.flags[i] = missed;
            now.pending.push_back(i);
        }
        row.next_use = now.next[i];
        row.planned_step = step;
        row.planned_position = i;
        const bool stays = row.next_use != never || !all_known;
        kept_ = kept_ + (stays ? 1U : 0U) - (row.kept ? 1U : 0U);
        row.kept = stays;
        if (row.next_use != never) {
            link(key, row.next_use);
        } else if (stays) {
            beyond_.push(key, worth(key));
        } else {
            now.flags[i] |= last_use;
        }
    }
    // Its list held the rows that were kept for it; they are in others now.
    now.first = no_row;
    now.listed = 0;
}

void WindowPolicy::plan_leaving(Step step) {
    while (kept_ > residents_->capacity()) {
        const RowKey worst = beyond_.front(
            [&](RowKey row) { return rows_[row].kept && rows_[row].next_use == never; },
            [&](RowKey row) { return worth(row); });
        if (worst == no_row) break;
        beyond_.pop();
        evict(worst, step);
    }
    while (kept_ > residents_->capacity())
        leave_farthest(step);
}

void WindowPolicy::leave_farthest(Step step) {
    while (coming(farthest_).listed == 0)
        --farthest_;
    const std::size_t excess = kept_ - residents_->capacity();
    scratch_.clear();
    for (RowKey row = coming(farthest_).first; row != no_row; row = rows_[row].after)
        scratch_.push_back(row);
    if (excess < scratch_.size()) {
        // Of rows used next in the same step the highest leave, so that the order is of the rule.
        std::nth_element(scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(excess),
                         scratch_.end(), std::greater<>());
        scratch_.resize(excess);
    }
    for (const RowKey row : scratch_) {
        unlink(row);
        evict(row, step);
    }
}

void WindowPolicy::evict(RowKey key, Step step) {
    Row& row = rows_[key];
    row.kept = false;
    --kept_;
    const bool used_later = row.planned_step != never && row.planned_step >= taken_;
    if (used_later) {
        coming(row.planned_step).flags[row.planned_position] |= last_use;
    } else {
        dead_.push_back(key);
    }
    // From its last use on its slot is idle.
    for (Step s = used_later ? row.planned_step : taken_; s < step; ++s)
        --coming(s).held;
}

// ---- taking steps ------------------------------------------------------------------------------

void WindowPolicy::advance(std::uint64_t step, std::span<const RowKey> rows,
                           const Decision& /*decision*/, StepPlan& plan) {
    RUDDER_CHECK(step - origin_ == taken_ && !coming_.empty());
    know();
    const std::uint64_t needed = rules_.window - rules_.distance;
    const Step end = static_cast<Step>(taken_ + coming_.size());
    while (planned_ <= taken_ || (planned_ < end && planned_ - taken_ <= rules_.distance &&
                                  (complete() || end - 1 - planned_ >= needed))) {
        plan_step();
    }
    take_step(rows, plan);
    fetch_ahead(plan);
    RUDDER_CHECK_NORMAL(residents_->count() == coming_.front().held);
    spare_.push_back(std::move(coming_.front()));
    coming_.pop_front();
    ++taken_;
}

void WindowPolicy::take_step(std::span<const RowKey> rows, StepPlan& plan) {
    const Coming& now = coming_.front();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if ((now.flags[i] & last_use) != 0 && plan.slots[i] != no_slot) leave(rows[i], plan);
    }
    drop_dead(plan);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if ((now.flags[i] & last_use) != 0 || plan.slots[i] != no_slot) continue;
        plan.admit.push_back({static_cast<std::uint32_t>(i), residents_->place(rows[i])});
    }
}

void WindowPolicy::drop_dead(StepPlan& plan) {
    for (const RowKey row : dead_)
        leave(row, plan);
    dead_.clear();
}

void WindowPolicy::fetch_ahead(StepPlan& plan) {
    std::size_t room = residents_->capacity();
    for (Step step = taken_ + 1; step < planned_; ++step) {
        room = std::min<std::size_t>(room, residents_->capacity() - coming(step - 1).held);
        if (room == 0) return;
        Coming& at = coming(step);
        std::uint32_t fetched = 0;
        std::size_t left = 0;
        for (const std::uint32_t position : at.pending) {
            const RowKey row = at.rows[position];
            // A row that is here still, for a use before this one, is fetched when it has gone.
            if (fetched == room || residents_->holds(row)) {
                at.pending[left++] = position;
                continue;
            }
            plan.ahead.push_back({row, residents_->place(row)});
            ++fetched;
        }
        at.pending.resize(left);
        for (Step s = taken_; s < step; ++s)
            coming(s).held += fetched;
        room -= fetched;
    }
}

// ---- changes -----------------------------------------------------------------------------------

void WindowPolicy::plan_anew() {
    know();
    for (const Coming& step : coming_) {
        for (const RowKey row : step.rows)
            rows_[row] = Row{};
    }
    beyond_.clear();
    dead_.clear();
    kept_ = residents_->count();
    planned_ = taken_;
    farthest_ = taken_;
    for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
        if (residents_->row_at(slot) == no_row) continue;
        rows_[residents_->row_at(slot)] = Row{};
        rows_[residents_->row_at(slot)].kept = true;
    }
    for (std::size_t i = 0; i < coming_.size(); ++i)
        announce(static_cast<Step>(taken_ + i));
    for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
        const RowKey row = residents_->row_at(slot);
        if (row != no_row && rows_[row].next_use == never) beyond_.push(row, worth(row));
    }
    plan_leaving(taken_);
}

void WindowPolicy::capacity_changed(std::uint64_t /*step*/, StepPlan& plan) {
    plan_anew();
    drop_dead(plan);
}

bool WindowPolicy::retune(std::uint64_t /*step*/, const PolicySpec& spec) {
    if (!spec.has("window")) return true;  // optimal has nothing to tune
    const WindowRules rules = rules_of(spec);
    if (rules.inclusion != rules_.inclusion) return false;
    rules_ = rules;
    counts_.set_decay(rules.decay);
    plan_anew();
    return true;
}

std::uint64_t WindowPolicy::bytes() const noexcept {
    std::uint64_t bytes = rows_.capacity() * sizeof(Row) + counts_.bytes() + beyond_.bytes();
    for (const Coming& step : coming_) {
        bytes += sizeof(Coming) + step.next.capacity() * sizeof(Step) + step.flags.capacity() +
                 step.pending.capacity() * sizeof(std::uint32_t);
    }
    return bytes;
}

namespace {

constexpr std::array<SpecParameter, 4> window_parameters{
    {{"window", ParameterKind::whole, 1, 1000000, 16, "number of steps to look ahead"},
     {"distance", ParameterKind::whole, 0, 1000, 2,
      "largest number of steps that rows are fetched early (fewer in short windows)"},
     {"decay", ParameterKind::real, 0, 1, 0.99,
      "factor by which the count of a use decays per step", true},
     {"inclusion", ParameterKind::flag, 0, 1, std::nullopt,
      "rank rows without a known use by inclusion probability"}}};

}  // namespace

const PolicyInfo window_info{
    {"window",
     "Keeps the rows whose next use within W coming steps is nearest and fetches ahead what they "
     "need.",
     window_parameters, SpecValue::shown},
    "RapidGNN (Niam et al., 2025), Ginex (Park et al., VLDB 2022), and beyond"};

std::unique_ptr<Policy> make_window(const PolicySpec& spec, const PolicyFacts& facts,
                                    Residents& residents) {
    const WindowRules rules = WindowPolicy::rules_of(spec);
    require(!rules.inclusion || facts.inclusion.size() == facts.rows->halo(), spec,
            "the inclusion probabilities of the halo");
    return std::make_unique<WindowPolicy>(facts, residents, rules);
}

const PolicyInfo optimal_info{{"optimal",
                               "Knows the whole trace and keeps the rows with the nearest next "
                               "use: no policy fetches fewer."},
                              "Belady (IBM Systems Journal 1966), with bypass"};

std::unique_ptr<Policy> make_optimal(const PolicySpec& /*spec*/, const PolicyFacts& facts,
                                     Residents& residents) {
    return std::make_unique<WindowPolicy>(facts, residents, WindowRules{whole_trace, 0, 1, false});
}

}  // namespace rudder::buffer
