#include "published_scores.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "policies.hpp"
#include "static_policy.hpp"

namespace rudder::buffer {

namespace {

/// Rounded to three digits, as published.
double threshold_of(const PublishedRules& rules) {
    return std::nearbyint(std::pow(1 - rules.alpha, static_cast<double>(rules.period)) * 1000) /
           1000;
}

}  // namespace

PublishedScores::PublishedScores(const PolicyFacts& facts, Residents& residents,
                                 const PublishedRules& rules, const Signal& signal)
    : ClonedPolicy(facts, residents),
      rules_(rules),
      signal_(signal),
      threshold_(threshold_of(rules)),
      inside_(residents.slots()),
      missed_(halo(), 0) {}

void PublishedScores::begin(std::uint64_t step, StepPlan& fill) {
    start_ = step;
    if (rules_.fill_by_degree) {
        fill_with(ranking_of(facts_.halo_degree), *residents_, fill);
    } else {
        capacity_changed(step, fill);
    }
    // A row that comes in before step 0 is idle in step 0 if that does not use it.
    for (Inside& row : inside_)
        row = {1, step, 0};
}

bool PublishedScores::retune(std::uint64_t /*step*/, const PolicySpec& spec) {
    // Scores are powers of alpha: another one would change what has been.
    if (spec.number("alpha") != rules_.alpha) return false;
    rules_.period = spec.whole(spec.has("period") ? "period" : "delta");
    threshold_ = threshold_of(rules_);
    signal_ = Signal::of(spec, facts_);
    return true;
}

double PublishedScores::faded(double first, std::uint64_t idle) const {
    // The table ends where every score is far below any threshold that can be written.
    constexpr std::size_t most = 1 << 16;
    const std::size_t n = std::min<std::size_t>(idle, most);
    for (std::size_t i = powers_.size(); i <= n; ++i)
        powers_.push_back(std::pow(1 - rules_.alpha, static_cast<double>(i)));
    return first * powers_[n];
}

double PublishedScores::score(SlotId slot, std::uint64_t step) const {
    // Steps since it came, this one included, less those that used it.
    const Inside& row = inside_[slot];
    return faded(row.first, step + 1 - row.since - row.hits);
}

void PublishedScores::advance(std::uint64_t step, std::span<const RowKey> rows,
                              const Decision& decision, StepPlan& plan) {
    for (const SlotId slot : plan.slots) {
        if (slot != no_slot) ++inside_[slot].hits;
    }
    const Decision now = signal_.at(step, decision, facts_);
    if (now.replace && replace(step, allowed(now, residents_->capacity()), plan) != 0) return;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (plan.slots[i] == no_slot && rows[i] < halo()) missed_[rows[i]] += 1;
    }
}

void PublishedScores::victims(std::uint64_t step) {
    out_.clear();
    for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
        const RowKey row = residents_->row_at(slot);
        if (row != no_row && score(slot, step) < threshold_) out_.push_back(row);
    }
    std::sort(out_.begin(), out_.end());  // rows of the halo are numbered in ascending id
    // Free slots are nodes that nobody asks for; their ids come after all others.
    if (faded(1, step + 1 - start_) < threshold_)
        out_.resize(out_.size() + residents_->room(), no_row);
}

void PublishedScores::candidates() {
    in_.clear();
    for (RowKey row = 0; row < halo(); ++row) {
        if (missed_[row] > 0) in_.push_back(row);
    }
}

std::uint64_t PublishedScores::replaceable(std::uint64_t step) const {
    const auto in = std::ranges::count_if(missed_, [](double missed) { return missed > 0; });
    std::uint64_t out = faded(1, step + 1 - start_) < threshold_ ? residents_->room() : 0;
    for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
        if (residents_->row_at(slot) != no_row && score(slot, step) < threshold_) ++out;
    }
    return std::min(out, static_cast<std::uint64_t>(in));
}

std::size_t PublishedScores::replace(std::uint64_t step, std::size_t limit, StepPlan& plan) {
    victims(step);
    candidates();
    const std::size_t count = std::min({out_.size(), in_.size(), limit});
    std::partial_sort(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(count), in_.end(),
                      [&](RowKey a, RowKey b) {
                          return missed_[a] != missed_[b] ? missed_[a] > missed_[b] : a < b;
                      });
    for (std::size_t i = 0; i < count; ++i) {
        const RowKey leaving = out_[i];
        if (leaving != no_row) {
            if (leaving < halo()) missed_[leaving] = score(residents_->slot_of(leaving), step);
            leave(leaving, plan);
        }
        const SlotId slot = residents_->place(in_[i]);
        inside_[slot] = {missed_[in_[i]], step + 1, 0};
        missed_[in_[i]] = 0;
        plan.replacement.push_back({in_[i], slot});
    }
    return count;
}

void PublishedScores::capacity_changed(std::uint64_t step, StepPlan& plan) {
    // The lowest scores leave, of equal ones the highest ids.
    if (residents_->count() <= residents_->capacity()) return;
    std::vector<std::pair<double, SlotId>> order;
    for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
        if (residents_->row_at(slot) == no_row) continue;
        const std::uint64_t last = std::max(step, inside_[slot].since + 1) - 1;
        order.emplace_back(score(slot, last), slot);
    }
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first
                                  : residents_->row_at(a.second) > residents_->row_at(b.second);
    });
    for (std::size_t i = 0; residents_->count() > residents_->capacity(); ++i) {
        const RowKey row = residents_->row_at(order[i].second);
        if (row < halo()) missed_[row] = order[i].first;
        leave(row, plan);
    }
}

std::uint64_t PublishedScores::bytes() const noexcept {
    return inside_.capacity() * sizeof(Inside) + missed_.capacity() * sizeof(double) +
           (out_.capacity() + in_.capacity()) * sizeof(RowKey) +
           powers_.capacity() * sizeof(double);
}

namespace {

constexpr std::array<SpecParameter, 2> periodic_parameters{
    {{"alpha", ParameterKind::real, 0, 1, 0.05,
      "share of its score that an unused row loses per step", true, true},
     {"delta", ParameterKind::whole, 1, 1000000, 8, "steps between two replacements"}}};

}  // namespace

const PolicyInfo periodic_info{
    {"periodic",
     "Starts with the rows of highest degree and replaces idle rows by missed ones every delta "
     "steps.",
     periodic_parameters},
    "MassiveGNN (Sarkar et al., CLUSTER 2024)"};

std::unique_ptr<Policy> make_periodic(const PolicySpec& spec, const PolicyFacts& facts,
                                      Residents& residents) {
    require(facts.halo_degree.size() == facts.rows->halo(), spec, "the degrees of the halo");
    const PublishedRules rules{spec.number("alpha"), spec.whole("delta"), true};
    return std::make_unique<PublishedScores>(facts, residents, rules, Signal::of(spec, facts));
}

namespace {

constexpr std::array<SpecParameter, 4> faithful_parameters{
    {{"every", ParameterKind::whole, 1, 4294967295.0, std::nullopt,
      "steps between two replacements; not given: the agent decides"},
     {"listed", ParameterKind::flag, 0, 1, std::nullopt,
      "replace in the steps that the trace lists"},
     {"alpha", ParameterKind::real, 0, 1, 0.05,
      "share of its score that an unused row loses per step", true, true},
     {"period", ParameterKind::whole, 1, 1000000, 1,
      "exponent of the eviction threshold (1 - alpha)^period"}}};

}  // namespace

const PolicyInfo scored_faithful_info{{"scored-faithful",
                                       "Replaces idle rows by the most missed ones when a "
                                       "replacement is due, exactly by the published rules.",
                                       faithful_parameters},
                                      "Rudder (Sarkar et al., ICS 2026)",
                                      true};

std::unique_ptr<Policy> make_scored_faithful(const PolicySpec& spec, const PolicyFacts& facts,
                                             Residents& residents) {
    const PublishedRules rules{spec.number("alpha"), spec.whole("period"), false};
    return std::make_unique<PublishedScores>(facts, residents, rules, Signal::of(spec, facts));
}

}  // namespace rudder::buffer
