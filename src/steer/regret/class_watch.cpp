#include "class_watch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "rudder/core/check.hpp"

namespace rudder::steer {

namespace {

/// Groups of rows, whose differences give the error.
constexpr std::uint32_t group_count = 4;
/// Looks in a step that are always allowed, and the rows of a larger one that allow one more.
constexpr std::size_t least_looks = 2048;
constexpr std::size_t rows_per_look = 16;
/// Looks in a whole run that are always allowed: a twentieth of a second.
constexpr std::size_t least_looks_of_run = std::size_t{1} << 20;
/// Steps whose largest says how many rows are followed. Rivals are further behind than that.
constexpr std::size_t first_steps = 16;
/// Rows of a rival that cannot be.
constexpr double lacking = -1;

/// Without a buffer every row is fetched: there is nothing to run.
bool runs(const Rival& rival) {
    return rival.policy.name() != "none";
}

std::size_t running_rivals() {
    static const auto count =
        static_cast<std::size_t>(std::ranges::count_if(declared_class(), runs));
    return count;
}

/// One row in so many is followed by a group, where so many steps (0: not known how many) need so
/// many rows each; 1: all.
std::uint32_t group_sample(std::size_t rows, std::uint64_t steps) {
    const std::size_t allowed = rival_looks(rows);
    const std::size_t whole = rows * running_rivals();
    if (whole <= allowed || (steps != 0 && whole <= least_looks_of_run / steps)) return 1;
    const std::size_t looks = rows * running_rivals() * group_count;
    constexpr std::size_t most = std::size_t{1} << 30;
    const std::size_t parts = std::min((looks + allowed - 1) / allowed, most);
    return static_cast<std::uint32_t>(std::max<std::size_t>(std::bit_ceil(parts), group_count));
}

}  // namespace

std::size_t rival_looks(std::size_t rows) noexcept {
    return std::max(least_looks, rows / rows_per_look);
}

struct ClassWatch::Group {
    std::shared_ptr<buffer::ShadowFeed> feed;
    std::vector<std::unique_ptr<buffer::ShadowBuffer>>
        rivals;                ///< null: it lacks a fact, or `runs`
    std::vector<Rows> before;  ///< accounts before the last step

    Group(const buffer::PolicyFacts& facts, const buffer::ShadowOptions& options,
          buffer::SlotId slots, std::uint64_t first)
        : feed(std::make_shared<buffer::ShadowFeed>(facts, options, first)),
          before(declared_class().size()) {
        for (const Rival& rival : declared_class()) {
            rivals.push_back(runs(rival) && rival.possible(feed->facts())
                                 ? std::make_unique<buffer::ShadowBuffer>(rival.policy, feed, slots,
                                                                          slots, first)
                                 : nullptr);
        }
    }

    /// How many rows were looked at.
    std::uint64_t advance(std::uint64_t step) {
        std::uint64_t looked = 0;
        for (std::size_t r = 0; r < rivals.size(); ++r) {
            if (rivals[r] == nullptr) continue;
            const Rows all = rivals[r]->counted();
            const Rows last = all - before[r];
            before[r] = all;
            rivals[r]->advance({.replace = declared_class()[r].replaces(last)});
            looked += feed->step(step)->rows.size();
        }
        feed->forget(step + 1);
        return looked;
    }

    /// What a rival would have fetched in all, where the real buffer needed so many rows.
    [[nodiscard]] double fetched(std::size_t r, std::uint64_t needed) const {
        if (!runs(declared_class()[r])) return static_cast<double>(needed);
        if (rivals[r] == nullptr) return lacking;
        const Rows counted = rivals[r]->counted();
        if (counted.needed == 0) return 0;
        const double scale = static_cast<double>(needed) / static_cast<double>(counted.needed);
        return static_cast<double>(counted.fetched()) * scale;
    }
};

ClassWatch::ClassWatch(const buffer::PolicyFacts& facts, buffer::SlotId slots,
                       std::uint64_t first_step, buffer::ShadowScan& scan)
    : facts_(facts),
      slots_(slots),
      scan_(scan),
      first_(first_step),
      horizon_(class_horizon()),
      published_(first_step),
      advanced_(first_step),
      taken_(first_step) {}

ClassWatch::~ClassWatch() = default;

void ClassWatch::begin() {
    std::size_t largest = 0;
    for (const auto& rows : held_)
        largest = std::max(largest, rows.size());
    const std::uint64_t steps = facts_.steps - std::min(facts_.steps, first_);
    const std::uint32_t sample = group_sample(largest, steps);
    buffer::ShadowScan early;
    for (std::uint32_t g = 0; g < (sample == 1 ? 1 : group_count); ++g) {
        // Parts from the end: other shadows follow the first one.
        const buffer::ShadowOptions options{.sample = sample, .salt = 0, .part = sample - 1 - g};
        groups_.push_back(std::make_unique<Group>(facts_, options, slots_, first_));
        early.add(groups_.back()->feed);
    }
    for (std::size_t i = 0; i < held_.size(); ++i)
        early.publish(first_ + i, held_[i]);
    held_ = {};
    for (const auto& group : groups_)
        scan_.add(group->feed);
}

void ClassWatch::published(std::uint64_t step, std::span<const buffer::RowKey> rows) {
    RUDDER_CHECK(step == published_);
    ++published_;
    if (groups_.empty()) {
        held_.emplace_back(rows.begin(), rows.end());
        if (held_.size() == first_steps) begin();
    }
    catch_up();
}

void ClassWatch::taken(const Rows& step) {
    real_ += step;
    ++taken_;
    catch_up();
}

void ClassWatch::catch_up() {
    while (advanced_ + horizon_ < published_ && advanced_ < taken_)
        advance();
}

void ClassWatch::advance() {
    for (const auto& group : groups_)
        looked_ += group->advance(advanced_);
    ++advanced_;
}

ClassRows ClassWatch::finish() {
    if (groups_.empty() && !held_.empty()) begin();
    while (advanced_ < taken_)
        advance();
    ClassRows rows{.steps = real_.steps, .fetched = static_cast<double>(real_.fetched())};
    if (groups_.empty()) return rows;
    for (std::uint32_t g = 0; g < group_count; ++g) {
        // One that follows all rows tells the same as any other.
        const Group& group = *groups_[g % groups_.size()];
        for (std::size_t r = 0; r < declared_class().size(); ++r)
            rows.rivals.push_back(group.fetched(r, real_.needed));
    }
    return rows;
}

ClassRows& ClassRows::operator+=(const ClassRows& other) {
    if (other.rivals.empty()) return *this;
    if (rivals.empty()) return *this = other;
    steps = std::max(steps, other.steps);
    fetched += other.fetched;
    for (std::size_t i = 0; i < rivals.size(); ++i) {
        const bool both = rivals[i] >= 0 && other.rivals[i] >= 0;
        rivals[i] = both ? rivals[i] + other.rivals[i] : lacking;
    }
    return *this;
}

std::optional<Regret> regret_of(const ClassRows& rows) {
    const std::size_t count = declared_class().size();
    if (rows.rivals.size() != count * group_count) return std::nullopt;
    std::optional<std::size_t> best;
    double least = 0;
    for (std::size_t r = 0; r < count; ++r) {
        double sum = 0;
        for (std::uint32_t g = 0; g < group_count; ++g)
            sum += rows.rivals[g * count + r];
        if (sum < 0 || (best && sum >= least)) continue;
        best = r;
        least = sum;
    }
    if (!best || least == 0) return std::nullopt;
    const double mean = least / group_count;
    double squares = 0;
    for (std::uint32_t g = 0; g < group_count; ++g) {
        const double off = rows.rivals[g * count + *best] - mean;
        squares += off * off;
    }
    const double deviation = std::sqrt(squares / (group_count - 1) / group_count);
    return Regret{.best = declared_class()[*best].name,
                  .value = rows.fetched / mean - 1,
                  .error = rows.fetched / mean * deviation / mean,
                  .steps = rows.steps};
}

}  // namespace rudder::steer
