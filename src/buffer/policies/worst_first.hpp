// Rows by scores that only ever grow: the worst are taken many at a time, and none is moved before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "rudder/buffer/row_numbering.hpp"

namespace rudder::buffer {

/// Rows, the one with the lowest score worst (of equal ones the highest row). An entry's score may
/// be an old, lower one; it is brought up to date when the entry is among the worst. Each row has
/// at most one entry; rows that are no longer wanted are thrown out when they are among the worst.
///
/// The worst few are *near*: worse than a bound, which all others, *far* ones, are not. Only they
/// are looked at, all at once; when they run out, as many as will do for a while come from afar. So
/// a row costs a few instructions for each time it is looked at, in loops over memory in a row.
template <class Score>
class WorstFirst {
public:
    /// `margin`: how many more than seem needed are brought near.
    explicit WorstFirst(std::size_t margin = 1024) : margin_(margin) {}

    void know(RowKey rows) {
        const std::size_t words = (std::size_t{rows} + 63) / 64;
        if (words > entered_.size()) entered_.resize(words + words / 8);
    }
    [[nodiscard]] bool has(RowKey row) const noexcept {
        return (entered_[row / 64] >> (row % 64) & 1U) != 0;
    }
    void push(RowKey row, const Score& score) {
        if (has(row)) return;
        flip(row);
        put({score, row});
    }
    /// Takes the `count` worst rows for which `wanted(row)` out, or as many as there are, by their
    /// scores of now; `taken(row)` is told of each, in no order. `ask(row)` comes a while before
    /// anything else is asked of a row, so that its memory is there by then.
    template <class Ask, class Wanted, class Current, class Taken>
    void take(std::size_t count, Ask ask, Wanted wanted, Current current, Taken taken) {
        if (count == 0) return;
        refresh(0, ask, wanted, current);
        while (near_.size() < count && !far_.empty())
            bring_near(count, ask, wanted, current);
        const std::size_t left = near_.size() - std::min(count, near_.size());
        divide(near_, left);
        for (std::size_t i = left; i < near_.size(); ++i) {
            if (i + lead < near_.size()) ask(near_[i + lead].row);
            flip(near_[i].row);
            taken(near_[i].row);
        }
        near_.resize(left);
        if (const std::size_t enough = several(count); left > 2 * enough) {
            divide(near_, left - enough);
            far_.insert(far_.end(), near_.begin(),
                        near_.end() - static_cast<std::ptrdiff_t>(enough));
            near_.erase(near_.begin(), near_.end() - static_cast<std::ptrdiff_t>(enough));
            bound_ = near_.front();
        }
    }
    /// Takes all out, in no order; `taken(row)` is told of each.
    template <class Taken>
    void take_all(Taken taken) {
        for (const auto* entries : {&near_, &far_}) {
            for (const Entry& entry : *entries) {
                flip(entry.row);
                taken(entry.row);
            }
        }
        near_.clear();
        far_.clear();
        bound_.reset();
    }
    void clear() {
        take_all([](RowKey) {});
    }
    [[nodiscard]] std::size_t size() const noexcept { return near_.size() + far_.size(); }
    /// Throws out what is not wanted, once there are more than `limit`.
    template <class Wanted>
    void tidy(std::size_t limit, Wanted wanted) {
        if (size() <= limit) return;
        for (auto* entries : {&near_, &far_}) {
            std::erase_if(*entries, [&](const Entry& entry) {
                if (wanted(entry.row)) return false;
                flip(entry.row);
                return true;
            });
        }
    }
    /// All scores were multiplied.
    void scale(double factor) {
        for (auto* entries : {&near_, &far_}) {
            for (Entry& entry : *entries)
                entry.score *= factor;
        }
        if (bound_) bound_->score *= factor;
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return entered_.capacity() * sizeof(std::uint64_t) +
               (near_.capacity() + far_.capacity()) * sizeof(Entry);
    }

private:
    struct Entry {
        Score score;
        RowKey row;
    };
    static bool better(const Entry& a, const Entry& b) noexcept {
        if (a.score < b.score) return false;
        if (b.score < a.score) return true;
        return a.row < b.row;
    }
    /// The entries from `at` on are the worst, the one at `at` the best of them.
    static void divide(std::vector<Entry>& entries, std::size_t at) {
        if (at == 0 || at == entries.size()) return;
        std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(at),
                         entries.end(), better);
    }
    /// How many are brought near for `count` that are wanted.
    [[nodiscard]] std::size_t several(std::size_t count) const noexcept {
        return 3 * count + margin_;
    }

    void flip(RowKey row) noexcept { entered_[row / 64] ^= std::uint64_t{1} << (row % 64); }
    void put(const Entry& entry) {
        (bound_ && better(entry, *bound_) ? far_ : near_).push_back(entry);
    }
    /// Near entries from `first` on get their scores of now.
    template <class Ask, class Wanted, class Current>
    void refresh(std::size_t first, Ask ask, Wanted wanted, Current current) {
        std::size_t left = first;
        for (std::size_t i = first; i < near_.size(); ++i) {
            if (i + lead < near_.size()) ask(near_[i + lead].row);
            const RowKey row = near_[i].row;
            if (!wanted(row)) {
                flip(row);
                continue;
            }
            const Entry now{current(row), row};
            if (bound_ && better(now, *bound_)) {
                far_.push_back(now);
            } else {
                near_[left++] = now;
            }
        }
        near_.resize(left);
    }
    template <class Ask, class Wanted, class Current>
    void bring_near(std::size_t count, Ask ask, Wanted wanted, Current current) {
        const std::size_t stay = far_.size() - std::min(far_.size(), several(count));
        divide(far_, stay);
        const std::size_t first = near_.size();
        near_.insert(near_.end(), far_.begin() + static_cast<std::ptrdiff_t>(stay), far_.end());
        bound_.reset();
        if (stay != 0) bound_ = far_[stay];
        far_.resize(stay);
        refresh(first, ask, wanted, current);
    }

    std::size_t margin_;
    std::vector<Entry> near_;
    std::vector<Entry> far_;
    std::optional<Entry> bound_;          ///< none: all are near
    std::vector<std::uint64_t> entered_;  ///< a bit by row
};

}  // namespace rudder::buffer
