// The steps of a run as shadows see them: a hashed sample of their rows, found once for all
// shadows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "rudder/buffer/policy.hpp"

namespace rudder::buffer {

struct ShadowOptions {
    /// Follows one row in so many, chosen by a hash of the vertex; 1: all. The capacity shrinks
    /// alike, so that rates stay what they are.
    std::uint32_t sample = 16;
    std::uint32_t salt = 0;  ///< another one follows other rows
    /// Which of the `sample` parts that a salt divides all rows into; no row is in two of them.
    std::uint32_t part = 0;
};

/// One row in so many, so that shadows hold about 2,048 rows where the real buffer has `slots`;
/// `least` where that is more. Beyond, a larger sample costs more and tells hardly more.
[[nodiscard]] constexpr std::uint32_t sample_for(SlotId slots, std::uint32_t least) noexcept {
    constexpr SlotId enough = 2048;
    return std::max(least, std::bit_floor(slots / enough));
}

/// Maps the rows of each step to those that are followed, and keeps the result for any number of
/// shadows. It copies what it keeps, so nothing has to stay valid but the facts.
class ShadowFeed {
public:
    /// A step: its followed rows, in their own numbers, and how many rows it really has.
    struct Step {
        std::vector<RowKey> rows;
        std::uint64_t size = 0;
    };

    ShadowFeed(const PolicyFacts& facts, const ShadowOptions& options,
               std::uint64_t first_step = 0);
    ShadowFeed(ShadowFeed&&) = delete;

    /// The rows of the next step; in order of steps. Of the calls on a feed only this one and the
    /// next look at the real facts.
    void publish(std::uint64_t step, std::span<const RowKey> rows);
    /// The same where somebody has looked at all rows: `found` are those of them, in order, that
    /// may be followed, of a step of `size` rows.
    void publish_found(std::uint64_t step, std::span<const RowKey> found, std::uint64_t size);
    /// No shadow will ask for steps before this one any more; those that have one keep it.
    void forget(std::uint64_t before);

    /// Steps that can be had: from begin() to before end().
    [[nodiscard]] std::uint64_t begin() const noexcept { return first_; }
    [[nodiscard]] std::uint64_t end() const noexcept { return first_ + steps_.size(); }
    [[nodiscard]] const std::shared_ptr<const Step>& step(std::uint64_t step) const;

    [[nodiscard]] const ShadowOptions& options() const noexcept { return options_; }
    /// What policies of shadows may know, about followed rows only.
    [[nodiscard]] PolicyFacts facts() const noexcept;
    /// The rows a shadow may hold where the real buffer holds `capacity`.
    [[nodiscard]] SlotId scaled(SlotId capacity) const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept;

private:
    friend class ShadowScan;

    /// Decides about rows that were numbered since.
    void follow_new();
    void follow(RowKey row) { followed_[row / 64] |= std::uint64_t{1} << (row % 64); }

    ShadowOptions options_;
    PolicyFacts real_;
    std::vector<std::uint64_t> followed_;  ///< bits, by real row: small enough to stay in cache
    std::vector<RowKey> sample_row_;       ///< by real row, where it is followed
    RowKey decided_ = 0;                   ///< real rows decided about
    std::unique_ptr<RowNumbering> rows_;
    std::vector<std::uint32_t> halo_degree_;
    std::vector<double> inclusion_;
    std::uint64_t first_;
    std::deque<std::shared_ptr<const Step>> steps_;
    std::vector<std::shared_ptr<Step>> spare_;
    std::vector<RowKey> found_;  ///< scratch: real rows of a step that are followed
};

/// Publishes steps to several feeds, and looks at each row once for all of them.
class ShadowScan {
public:
    /// A feed over the same real rows, which has had all steps so far.
    void add(std::shared_ptr<ShadowFeed> feed);
    void publish(std::uint64_t step, std::span<const RowKey> rows);

    /// Rows that it has looked at, in all.
    [[nodiscard]] std::uint64_t scanned() const noexcept { return scanned_; }

private:
    /// Takes over what feeds have decided about rows from this word on.
    void merge(std::size_t from);

    std::vector<std::shared_ptr<ShadowFeed>> feeds_;
    std::vector<std::uint64_t> any_;  ///< bits, by real row: one of the feeds follows it
    std::vector<RowKey> found_;       ///< scratch
    std::uint64_t scanned_ = 0;
};

}  // namespace rudder::buffer
