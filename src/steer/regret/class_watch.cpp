#include "class_watch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "rudder/core/check.hpp"

namespace rudder::steer {

namespace {

/// Groups of rows, whose differences give the error.
constexpr std::uint32_t group_count = 4;
/// Rows that the shadows of one group hold, about: a larger sample costs more than it tells.
constexpr buffer::SlotId group_slots = 512;
/// Rows that all rivals of all groups look at in one step, about: a tenth of a millisecond.
constexpr std::size_t rows_per_step = 8192;
/// Rows of a rival that cannot be.
constexpr double lacking = -1;
/// Salts of other shadows are small numbers.
constexpr std::uint32_t first_salt = 0x72656772;

/// One row in so many is followed by a group, beside a buffer of that size whose steps need so many
/// rows; 1: all.
std::uint32_t group_sample(buffer::SlotId slots, std::size_t rows) {
    const std::uint32_t by_slots = std::bit_floor(slots / group_slots);
    if (by_slots <= 1) return 1;
    const std::size_t looks = rows * declared_class().size() * group_count;
    constexpr std::size_t most = std::size_t{1} << 30;
    const std::size_t by_rows = std::bit_ceil(std::min(looks / rows_per_step, most));
    return std::max(by_slots, static_cast<std::uint32_t>(by_rows));
}

}  // namespace

struct ClassWatch::Group {
    std::shared_ptr<buffer::ShadowFeed> feed;
    std::vector<std::unique_ptr<buffer::ShadowBuffer>> rivals;  ///< null: it lacks a fact
    std::vector<Rows> before;                                   ///< accounts before the last step

    Group(const buffer::PolicyFacts& facts, const buffer::ShadowOptions& options,
          buffer::SlotId slots, std::uint64_t first)
        : feed(std::make_shared<buffer::ShadowFeed>(facts, options, first)),
          before(declared_class().size()) {
        for (const Rival& rival : declared_class()) {
            rivals.push_back(rival.possible(feed->facts())
                                 ? std::make_unique<buffer::ShadowBuffer>(rival.policy, feed, slots,
                                                                          slots, first)
                                 : nullptr);
        }
    }

    void advance(std::uint64_t step) {
        for (std::size_t r = 0; r < rivals.size(); ++r) {
            if (rivals[r] == nullptr) continue;
            const Rows all = rivals[r]->counted();
            const Rows last = all - before[r];
            before[r] = all;
            rivals[r]->advance({.replace = declared_class()[r].replaces(last)});
        }
        feed->forget(step + 1);
    }
};

ClassWatch::ClassWatch(const buffer::PolicyFacts& facts, buffer::SlotId slots,
                       std::uint64_t first_step)
    : facts_(facts),
      slots_(slots),
      horizon_(class_horizon()),
      published_(first_step),
      advanced_(first_step),
      taken_(first_step) {}

ClassWatch::~ClassWatch() = default;

void ClassWatch::begin(std::size_t rows) {
    const std::uint32_t sample = group_sample(slots_, rows);
    for (std::uint32_t g = 0; g < (sample == 1 ? 1 : group_count); ++g) {
        groups_.push_back(std::make_unique<Group>(
            facts_, buffer::ShadowOptions{sample, first_salt + g}, slots_, published_));
    }
}

void ClassWatch::publish(std::uint64_t step, std::span<const buffer::RowKey> rows) {
    RUDDER_CHECK(step == published_);
    if (groups_.empty()) begin(rows.size());
    for (const auto& group : groups_)
        group->feed->publish(step, rows);
    ++published_;
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
        group->advance(advanced_);
    ++advanced_;
}

ClassRows ClassWatch::finish() {
    while (advanced_ < taken_)
        advance();
    ClassRows rows{.steps = real_.steps, .fetched = static_cast<double>(real_.fetched())};
    if (groups_.empty()) return rows;
    for (std::uint32_t g = 0; g < group_count; ++g) {
        // One that follows all rows tells the same as any other.
        for (const auto& rival : groups_[g % groups_.size()]->rivals) {
            const Rows counted = rival == nullptr ? Rows{} : rival->counted();
            const double scale = counted.needed == 0 ? 0
                                                     : static_cast<double>(real_.needed) /
                                                           static_cast<double>(counted.needed);
            rows.rivals.push_back(
                rival == nullptr ? lacking : static_cast<double>(counted.fetched()) * scale);
        }
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
