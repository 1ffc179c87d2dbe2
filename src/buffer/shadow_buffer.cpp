#include "rudder/buffer/shadow_buffer.hpp"

#include <algorithm>
#include <cmath>

#include "rudder/core/check.hpp"

namespace rudder {

namespace {

/// A row is followed if this is below 2^32 / sample.
std::uint32_t hash_of(VertexId v, std::uint32_t salt) noexcept {
    std::uint64_t x = v + 0x9E3779B97F4A7C15ULL * (salt + 1ULL);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
}

bool chosen(VertexId v, const ShadowOptions& options) noexcept {
    return (std::uint64_t{hash_of(v, options.salt)} * options.sample) >> 32 == 0;
}

}  // namespace

ShadowBuffer::ShadowBuffer(const PolicySpec& spec, const PolicyFacts& facts, SlotId capacity,
                           const ShadowOptions& options, std::uint64_t first_step)
    : options_(options), real_(facts) {
    RUDDER_CHECK(options.sample >= 1);
    std::vector<VertexId> halo;
    const RowNumbering& real = *facts.rows;
    sample_row_.resize(real.halo(), no_row);  // others when they are first seen
    for (RowKey row = 0; row < real.halo(); ++row) {
        if (!chosen(real.vertex(row), options)) continue;
        sample_row_[row] = static_cast<RowKey>(halo.size());
        halo.push_back(real.vertex(row));
        if (!facts.halo_degree.empty()) halo_degree_.push_back(facts.halo_degree[row]);
        if (!facts.inclusion.empty()) inclusion_.push_back(facts.inclusion[row]);
    }
    // Looked up by real row, never by vertex, so that no entry per vertex is wanted.
    rows_ = std::make_unique<RowNumbering>(real.universe(), halo, VertexId{0});
    PolicyFacts sampled = facts;
    sampled.rows = rows_.get();
    sampled.halo_degree = halo_degree_;
    sampled.inclusion = inclusion_;
    const SlotId slots = scaled(std::min<SlotId>(capacity, no_slot - 1));
    buffer_ = std::make_unique<IdBuffer>(spec, sampled, slots, slots, first_step);
}

SlotId ShadowBuffer::scaled(SlotId capacity) const noexcept {
    return static_cast<SlotId>(
        std::lround(static_cast<double>(capacity) / static_cast<double>(options_.sample)));
}

void ShadowBuffer::follow_new() {
    while (sample_row_.size() < real_.rows->size()) {
        const VertexId v = real_.rows->vertex(static_cast<RowKey>(sample_row_.size()));
        RowKey number = no_row;
        if (chosen(v, options_)) rows_->number({&v, 1}, {&number, 1});
        sample_row_.push_back(number);
    }
}

void ShadowBuffer::publish(std::uint64_t step, std::span<const RowKey> rows) {
    std::vector<RowKey> kept;
    if (!spare_.empty()) {
        kept = std::move(spare_.back());
        spare_.pop_back();
    }
    kept.clear();
    follow_new();
    for (const RowKey row : rows) {
        if (sample_row_[row] != no_row) kept.push_back(sample_row_[row]);
    }
    sizes_.push_back(rows.size());
    steps_.push_back(std::move(kept));
    buffer_->publish(step, steps_.back());
}

void ShadowBuffer::advance(const Decision& decision) {
    buffer_->advance(decision);
    seen_ += sizes_.front();
    followed_ += steps_.front().size();
    sizes_.pop_front();
    spare_.push_back(std::move(steps_.front()));
    steps_.pop_front();
}

void ShadowBuffer::set_capacity(SlotId capacity) {
    buffer_->set_capacity(std::min(scaled(capacity), buffer_->residents().slots()));
}

RowAccounts ShadowBuffer::estimated() const noexcept {
    // By what share of the rows was really followed: less noisy than the nominal one.
    const double scale = followed_ == 0
                             ? static_cast<double>(options_.sample)
                             : static_cast<double>(seen_) / static_cast<double>(followed_);
    const auto grown = [&](std::uint64_t count) {
        return static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * scale));
    };
    const RowAccounts& c = counted();
    RowAccounts all;
    all.steps = c.steps;
    all.needed = seen_;
    all.hits = grown(c.hits);
    all.demand = seen_ - std::min(seen_, all.hits);
    all.replacement = grown(c.replacement);
    all.ahead = grown(c.ahead);
    all.wasted = grown(c.wasted);
    return all;
}

std::uint64_t ShadowBuffer::bytes() const noexcept {
    std::uint64_t bytes =
        buffer_->bytes() + rows_->bytes() + sample_row_.capacity() * sizeof(RowKey);
    for (const auto& step : steps_)
        bytes += step.capacity() * sizeof(RowKey);
    return bytes;
}

}  // namespace rudder
