#include "window_policy.hpp"

#include <algorithm>
#include <array>

#include "rudder/buffer/knobs.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/parallel.hpp"

#include "policies.hpp"
#include "signal.hpp"

namespace rudder::buffer {

namespace {

/// Rows of a step that one thread takes at a time.
constexpr std::size_t chunk_rows = std::size_t{1} << 13;

}  // namespace

WindowPolicy::WindowPolicy(const PolicyFacts& facts, Residents& residents, const WindowRules& rules)
    : ClonedPolicy(facts, residents), rules_(rules), coming_(1), weight_(rules.decay) {}

WindowRules WindowPolicy::rules_of(const PolicySpec& spec) {
    WindowRules rules;
    rules.window = spec.whole("window");
    rules.distance = distance_of(spec);
    rules.decay = spec.number("decay");
    rules.inclusion = spec.given("inclusion");
    return rules;
}

void WindowPolicy::know() {
    if (known() > rows_.size()) rows_.resize(known());
    beyond_.know(known());
}

bool WindowPolicy::complete() const noexcept {
    return facts_.steps != 0 && origin_ + known_ >= facts_.steps;
}

double WindowPolicy::worth(RowKey row) const noexcept {
    if (!rules_.inclusion) return rows_[row].count;
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
    RUDDER_CHECK(at == known_ && at != never);
    know();
    if (known_ - taken_ == coming_.size()) make_room();
    ++known_;
    coming(at).rows = rows;
    announce(at);
}

void WindowPolicy::make_room() {
    std::vector<Coming> larger(2 * coming_.size());
    for (Step step = taken_; step < known_; ++step)
        larger[step & (larger.size() - 1)] = std::move(coming(step));
    coming_ = std::move(larger);
}

void WindowPolicy::announce(Step step) {
    Coming& now = coming(step);
    const std::size_t count = now.rows.size();
    now.next.assign(count, never);
    now.flags.assign(count, 0);
    now.pending.clear();
    now.kept.clear();
    const std::size_t chunks = chunk_count(count, chunk_rows);
    if (chunks_.size() < chunks) chunks_.resize(chunks);
    // No row is in a step twice, and no position has two rows behind it: chunks do not meet.
    parallel_chunks(count, chunk_rows, [&](const Chunk& chunk) {
        std::vector<RowKey>& kept = chunks_[chunk.index].first_known;
        kept.clear();
        for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
            if (i + lead < count) __builtin_prefetch(&rows_[now.rows[i + lead]], 1);
            Row& row = rows_[now.rows[i]];
            if (row.next_use == never) {
                row.next_use = step;
                if (row.kept) kept.push_back(now.rows[i]);
            } else {
                coming(row.last_step).next[row.last_position] = step;
            }
            row.last_step = step;
            row.last_position = static_cast<std::uint32_t>(i);
        }
    });
    for (std::size_t c = 0; c < chunks; ++c)
        keep_for(step, chunks_[c].first_known);
}

void WindowPolicy::keep_for(Step step, std::span<const RowKey> rows) {
    if (rows.empty()) return;
    std::vector<RowKey>& kept = coming(step).kept;
    kept.insert(kept.end(), rows.begin(), rows.end());
    kept_known_ += rows.size();
    farthest_ = std::max(farthest_, step);
}

// ---- planning ----------------------------------------------------------------------------------

void WindowPolicy::plan_step() {
    const Step step = planned_;
    Coming& now = coming(step);
    double use = 0;  // what one adds to a count; steps that are planned again were counted before
    if (step >= counted_) {
        counted_ = step + 1;
        count_step();
        use = weight_.now();
    }
    plan_uses(step, use);
    ++planned_;
    plan_leaving(step);
    now.held = static_cast<std::uint32_t>(kept_);
    beyond_.tidy(2 * (std::size_t{residents_->capacity()} + now.rows.size()) + 1024,
                 [&](RowKey row) { return rows_[row].kept_beyond(); });
}

void WindowPolicy::count_step() {
    const double factor = weight_.step();
    if (factor == 1) return;
    for (Row& row : rows_)
        row.count *= factor;
    if (!rules_.inclusion) beyond_.scale(factor);
}

void WindowPolicy::plan_uses(Step step, double use) {
    Coming& now = coming(step);
    const std::size_t chunks = chunk_count(now.rows.size(), chunk_rows);
    parallel_chunks(now.rows.size(), chunk_rows, [&](const Chunk& chunk) {
        plan_chunk(step, use, chunk, chunks_[chunk.index]);
    });
    // The rows that were kept for this step are kept for others now.
    kept_known_ -= now.kept.size();
    now.kept.clear();
    for (std::size_t c = 0; c < chunks; ++c) {
        const Planned& of = chunks_[c];
        now.pending.insert(now.pending.end(), of.missed.begin(), of.missed.end());
        for (const Planned::Use& next : of.again) {
            coming(next.step).kept.push_back(next.row);
            farthest_ = std::max(farthest_, next.step);
        }
        kept_known_ += of.again.size();
        for (const RowKey row : of.beyond)
            beyond_.push(row, worth(row));
        kept_ = kept_ + of.again.size() + of.beyond.size() - of.kept_before;
    }
}

void WindowPolicy::plan_chunk(Step step, double use, const Chunk& chunk, Planned& out) {
    Coming& now = coming(step);
    out.again.clear();
    out.beyond.clear();
    out.missed.clear();
    out.kept_before = 0;
    const bool all_known = complete();
    for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
        if (i + lead < chunk.end) __builtin_prefetch(&rows_[now.rows[i + lead]], 1);
        const RowKey key = now.rows[i];
        Row& row = rows_[key];
        row.count += use;
        if (row.kept) {
            ++out.kept_before;
        } else {
            now.flags[i] = missed;
            out.missed.push_back(static_cast<std::uint32_t>(i));
        }
        row.next_use = now.next[i];
        row.planned_step = step;
        row.planned_position = static_cast<std::uint32_t>(i);
        row.kept = row.next_use != never || !all_known;
        if (row.next_use != never) {
            out.again.push_back({row.next_use, key});
        } else if (row.kept) {
            out.beyond.push_back(key);
        } else {
            now.flags[i] |= last_use;
        }
    }
}

void WindowPolicy::plan_leaving(Step step) {
    if (kept_ > residents_->capacity()) leave_beyond(step);
    while (kept_ > residents_->capacity())
        leave_farthest(step);
}

/// Of the rows without a known use the least worthy leave; all of them need no order.
void WindowPolicy::leave_beyond(Step step) {
    const auto wanted = [&](RowKey row) { return rows_[row].kept_beyond(); };
    if (kept_known_ >= residents_->capacity()) {
        beyond_.take_all([&](RowKey row) {
            if (wanted(row)) evict(row, step);
        });
    } else {
        beyond_.take(
            kept_ - residents_->capacity(), [&](RowKey row) { __builtin_prefetch(&rows_[row], 1); },
            wanted, [&](RowKey row) { return worth(row); }, [&](RowKey row) { evict(row, step); });
    }
}

/// Of rows used next in the same step the highest leave, so that the order is of the rule.
void WindowPolicy::leave_farthest(Step step) {
    while (coming(farthest_).kept.empty())
        --farthest_;
    std::vector<RowKey>& kept = coming(farthest_).kept;
    const std::size_t stay = kept.size() - std::min(kept.size(), kept_ - residents_->capacity());
    if (stay != 0) {
        const auto middle = kept.begin() + static_cast<std::ptrdiff_t>(stay);
        std::nth_element(kept.begin(), middle, kept.end());
    }
    for (std::size_t i = stay; i < kept.size(); ++i) {
        if (i + lead < kept.size()) __builtin_prefetch(&rows_[kept[i + lead]], 1);
        evict(kept[i], step);
    }
    kept_known_ -= kept.size() - stay;
    kept.resize(stay);
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
    RUDDER_CHECK(step - origin_ == taken_ && known_ > taken_);
    know();
    const std::uint64_t needed = rules_.window - rules_.distance;
    while (planned_ <= taken_ || (planned_ < known_ && planned_ - taken_ <= rules_.distance &&
                                  (complete() || known_ - 1 - planned_ >= needed))) {
        plan_step();
    }
    take_step(rows, plan);
    fetch_ahead(plan);
    RUDDER_CHECK_NORMAL(residents_->count() == coming(taken_).held);
    ++taken_;
}

void WindowPolicy::take_step(std::span<const RowKey> rows, StepPlan& plan) {
    const Coming& now = coming(taken_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if ((now.flags[i] & last_use) == 0 || plan.slots[i] == no_slot) continue;
        residents_->remove(rows[i], plan.slots[i]);
        plan.leave.push_back({rows[i], plan.slots[i]});
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
    for (Step step = taken_; step < known_; ++step) {
        for (const RowKey row : coming(step).rows)
            rows_[row].forget();
    }
    beyond_.clear();
    dead_.clear();
    kept_ = residents_->count();
    kept_known_ = 0;
    planned_ = taken_;
    farthest_ = taken_;
    for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
        const RowKey row = residents_->row_at(slot);
        if (row == no_row) continue;
        rows_[row].forget();
        rows_[row].kept = true;
    }
    for (Step step = taken_; step < known_; ++step)
        announce(step);
    for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
        const RowKey row = residents_->row_at(slot);
        if (row != no_row && rows_[row].kept_beyond()) beyond_.push(row, worth(row));
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
    weight_.set_decay(rules.decay);
    plan_anew();
    return true;
}

std::uint64_t WindowPolicy::bytes() const noexcept {
    std::uint64_t bytes = rows_.capacity() * sizeof(Row) + beyond_.bytes();
    for (const Coming& step : coming_) {
        bytes += sizeof(Coming) + step.next.capacity() * sizeof(Step) + step.flags.capacity() +
                 step.pending.capacity() * sizeof(std::uint32_t) +
                 step.kept.capacity() * sizeof(RowKey);
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
