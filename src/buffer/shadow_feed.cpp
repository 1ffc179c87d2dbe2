#include "shadow_feed.hpp"

#include <algorithm>
#include <cmath>

#include "rudder/core/check.hpp"

namespace rudder::buffer {

namespace {

/// A row is followed if this, of 2^32, lies in the part that is asked for.
std::uint32_t hash_of(VertexId v, std::uint32_t salt) noexcept {
    std::uint64_t x = v + 0x9E3779B97F4A7C15ULL * (salt + 1ULL);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
}

/// Those rows whose bit is set, in order, in front of `found`; how many they are. Without a branch:
/// which rows are followed is random.
std::size_t sift(std::span<const RowKey> rows, std::span<const std::uint64_t> bits,
                 std::vector<RowKey>& found) {
    if (found.size() < rows.size()) found.resize(rows.size());
    std::size_t count = 0;
    for (const RowKey row : rows) {
        found[count] = row;
        count += bits[row / 64] >> (row % 64) & 1U;
    }
    return count;
}

bool chosen(VertexId v, const ShadowOptions& options) noexcept {
    return (std::uint64_t{hash_of(v, options.salt)} * options.sample) >> 32 == options.part;
}

}  // namespace

ShadowFeed::ShadowFeed(const PolicyFacts& facts, const ShadowOptions& options,
                       std::uint64_t first_step)
    : options_(options), real_(facts), first_(first_step) {
    RUDDER_CHECK(options.sample >= 1 && options.part < options.sample);
    std::vector<VertexId> halo;
    const RowNumbering& real = *facts.rows;
    followed_.resize((real.halo() + std::size_t{63}) / 64);
    sample_row_.resize(real.halo(), no_row);  // others when they are first seen
    for (; decided_ < real.halo(); ++decided_) {
        const RowKey row = decided_;
        if (!chosen(real.vertex(row), options)) continue;
        follow(row);
        sample_row_[row] = static_cast<RowKey>(halo.size());
        halo.push_back(real.vertex(row));
        if (!facts.halo_degree.empty()) halo_degree_.push_back(facts.halo_degree[row]);
        if (!facts.inclusion.empty()) inclusion_.push_back(facts.inclusion[row]);
    }
    // Looked up by real row, never by vertex, so that no entry per vertex is wanted.
    rows_ = std::make_unique<RowNumbering>(real.universe(), halo, VertexId{0});
}

PolicyFacts ShadowFeed::facts() const noexcept {
    PolicyFacts sampled = real_;
    sampled.rows = rows_.get();
    sampled.halo_degree = halo_degree_;
    sampled.inclusion = inclusion_;
    return sampled;
}

SlotId ShadowFeed::scaled(SlotId capacity) const noexcept {
    return static_cast<SlotId>(
        std::lround(static_cast<double>(capacity) / static_cast<double>(options_.sample)));
}

void ShadowFeed::follow_new() {
    const RowKey all = real_.rows->size();
    if (decided_ == all) return;
    followed_.resize((all + std::size_t{63}) / 64);
    sample_row_.resize(all, no_row);
    for (; decided_ < all; ++decided_) {
        const VertexId v = real_.rows->vertex(decided_);
        if (!chosen(v, options_)) continue;
        follow(decided_);
        rows_->number({&v, 1}, {&sample_row_[decided_], 1});
    }
}

void ShadowFeed::publish(std::uint64_t step, std::span<const RowKey> rows) {
    publish_found(step, rows, rows.size());
}

void ShadowFeed::publish_found(std::uint64_t step, std::span<const RowKey> found,
                               std::uint64_t size) {
    RUDDER_CHECK(step == end());
    follow_new();
    std::shared_ptr<Step> kept;
    if (spare_.empty()) {
        kept = std::make_shared<Step>();
    } else {
        kept = std::move(spare_.back());
        spare_.pop_back();
    }
    kept->size = size;
    const std::size_t count = sift(found, followed_, found_);
    kept->rows.resize(count);
    for (std::size_t i = 0; i < count; ++i)
        kept->rows[i] = sample_row_[found_[i]];
    steps_.push_back(std::move(kept));
}

void ShadowFeed::forget(std::uint64_t before) {
    while (first_ < before && !steps_.empty()) {
        // What a shadow still has is its own from now on; other memory is used again.
        if (steps_.front().use_count() == 1)
            spare_.push_back(std::const_pointer_cast<Step>(steps_.front()));
        steps_.pop_front();
        ++first_;
    }
}

const std::shared_ptr<const ShadowFeed::Step>& ShadowFeed::step(std::uint64_t step) const {
    RUDDER_CHECK(step >= first_ && step < end());
    return steps_[step - first_];
}

std::uint64_t ShadowFeed::bytes() const noexcept {
    std::uint64_t bytes = rows_->bytes() + sample_row_.capacity() * sizeof(RowKey) +
                          followed_.capacity() * sizeof(std::uint64_t) +
                          halo_degree_.capacity() * sizeof(std::uint32_t) +
                          inclusion_.capacity() * sizeof(double);
    for (const auto& step : steps_)
        bytes += step->rows.capacity() * sizeof(RowKey);
    return bytes;
}

void ShadowScan::add(std::shared_ptr<ShadowFeed> feed) {
    RUDDER_CHECK(feeds_.empty() || feed->end() == feeds_.front()->end());
    feeds_.push_back(std::move(feed));
    merge(0);
}

void ShadowScan::merge(std::size_t from) {
    for (const auto& feed : feeds_) {
        any_.resize(std::max(any_.size(), feed->followed_.size()));
        for (std::size_t i = from; i < feed->followed_.size(); ++i)
            any_[i] |= feed->followed_[i];
    }
}

void ShadowScan::publish(std::uint64_t step, std::span<const RowKey> rows) {
    if (feeds_.empty()) return;
    RowKey decided = no_row;
    for (const auto& feed : feeds_) {
        decided = std::min(decided, feed->decided_);
        feed->follow_new();
    }
    if (decided != feeds_.front()->decided_) merge(decided / 64);
    const std::size_t count = sift(rows, any_, found_);
    const auto found = std::span<const RowKey>(found_).first(count);
    for (const auto& feed : feeds_)
        feed->publish_found(step, found, rows.size());
    scanned_ += rows.size();
}

}  // namespace rudder::buffer
