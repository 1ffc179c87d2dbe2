// A heap of rows by scores that only ever grow: touching a row costs nothing until it is looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rudder/buffer/row_numbering.hpp"

namespace rudder::buffer {

/// Rows, the one with the lowest score first (of equal ones the highest row). An entry's score may
/// be an old, lower one; it is brought up to date when the entry comes to the front. Each row has
/// at most one entry; rows that are no longer wanted are thrown out when they come to the front.
template <class Score>
class WorstFirst {
public:
    void know(RowKey rows) {
        if (rows > entered_.size()) entered_.resize(rows, 0);
    }
    [[nodiscard]] bool has(RowKey row) const noexcept { return entered_[row] != 0; }
    void push(RowKey row, const Score& score) {
        if (entered_[row] != 0) return;
        entered_[row] = 1;
        heap_.push_back({score, row});
        std::push_heap(heap_.begin(), heap_.end(), better);
    }
    /// The worst row for which `wanted(row)`, with its score of now; no_row if there is none. It
    /// stays.
    template <class Wanted, class Current>
    RowKey front(Wanted wanted, Current current) {
        while (!heap_.empty()) {
            const Entry top = heap_.front();
            if (!wanted(top.row)) {
                pop();
                continue;
            }
            const Score now = current(top.row);
            if (!(top.score < now)) return top.row;
            sift({now, top.row});
        }
        return no_row;
    }
    /// Takes the front out.
    void pop() {
        entered_[heap_.front().row] = 0;
        std::pop_heap(heap_.begin(), heap_.end(), better);
        heap_.pop_back();
    }
    void clear() {
        for (const Entry& entry : heap_)
            entered_[entry.row] = 0;
        heap_.clear();
    }
    [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
    /// Throws out what is not wanted; keeps the heap in proportion to the buffer.
    template <class Wanted>
    void tidy(std::size_t limit, Wanted wanted) {
        if (heap_.size() <= limit) return;
        std::erase_if(heap_, [&](const Entry& entry) {
            if (wanted(entry.row)) return false;
            entered_[entry.row] = 0;
            return true;
        });
        std::make_heap(heap_.begin(), heap_.end(), better);
    }
    /// All scores were multiplied.
    void scale(double factor) {
        for (Entry& entry : heap_)
            entry.score *= factor;
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return entered_.capacity() + heap_.capacity() * sizeof(Entry);
    }

private:
    struct Entry {
        Score score;
        RowKey row;
    };
    /// Heaps of the library have the greatest in front: so the worst is the greatest.
    static bool better(const Entry& a, const Entry& b) noexcept {
        if (a.score < b.score) return false;
        if (b.score < a.score) return true;
        return a.row < b.row;
    }
    /// Replaces the front by `entry` and lets it sink.
    void sift(const Entry& entry) {
        std::size_t at = 0;
        for (;;) {
            std::size_t child = 2 * at + 1;
            if (child >= heap_.size()) break;
            if (child + 1 < heap_.size() && better(heap_[child], heap_[child + 1])) ++child;
            if (!better(entry, heap_[child])) break;
            heap_[at] = heap_[child];
            at = child;
        }
        heap_[at] = entry;
    }

    std::vector<Entry> heap_;
    std::vector<std::uint8_t> entered_;  ///< by row
};

}  // namespace rudder::buffer
