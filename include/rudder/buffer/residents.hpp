// Which rows the buffer holds, and in which slots: rows never move between slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/buffer/row_numbering.hpp"
#include "rudder/core/check.hpp"

namespace rudder::buffer {

/// The place of one row in the buffer's memory.
using SlotId = std::uint32_t;
inline constexpr SlotId no_slot = 0xffffffffU;

/// A row in a slot.
struct Placed {
    RowKey row;
    SlotId slot;
    friend bool operator==(const Placed&, const Placed&) = default;
};

/// The rows in the buffer. There are `slots` slots for good; `capacity` of them may be used, and
/// that may change. One owner changes it; looking up is safe from several tasks meanwhile only if
/// the owner rests.
class Residents {
public:
    explicit Residents(SlotId slots, SlotId capacity);

    [[nodiscard]] SlotId slots() const noexcept { return static_cast<SlotId>(row_of_.size()); }
    [[nodiscard]] SlotId capacity() const noexcept { return capacity_; }
    [[nodiscard]] SlotId count() const noexcept { return count_; }
    [[nodiscard]] SlotId room() const noexcept {
        return count_ < capacity_ ? capacity_ - count_ : 0;
    }
    /// The row in a slot, or no_row.
    [[nodiscard]] RowKey row_at(SlotId slot) const noexcept { return row_of_[slot]; }
    /// A row's slot, or no_slot. The row must be below the number made known.
    [[nodiscard]] SlotId slot_of(RowKey row) const noexcept { return slot_of_[row]; }
    [[nodiscard]] bool holds(RowKey row) const noexcept { return slot_of_[row] != no_slot; }
    /// The same of any row: one that was not made known is not here.
    [[nodiscard]] bool has(RowKey row) const noexcept {
        return row < slot_of_.size() && slot_of_[row] != no_slot;
    }
    /// The slots of rows; no_slot where the row is not here. The count that are is returned.
    std::uint32_t look_up(std::span<const RowKey> rows, std::span<SlotId> out) const noexcept;

    /// Makes rows below `rows` known.
    void know(RowKey rows) {
        if (rows > slot_of_.size()) slot_of_.resize(rows, no_slot);
    }
    /// Puts a row that is not here into a free slot; there must be room.
    SlotId place(RowKey row) {
        RUDDER_CHECK_HEAVY(count_ < capacity_ && slot_of_[row] == no_slot);
        const SlotId slot = free_.back();
        free_.pop_back();
        slot_of_[row] = slot;
        row_of_[slot] = row;
        ++count_;
        return slot;
    }
    /// Takes a row that is here out of its slot.
    SlotId remove(RowKey row) {
        const SlotId slot = slot_of_[row];
        remove(row, slot);
        return slot;
    }
    /// The same where its slot is known.
    void remove(RowKey row, SlotId slot) {
        RUDDER_CHECK_HEAVY(slot != no_slot && slot_of_[row] == slot);
        slot_of_[row] = no_slot;
        row_of_[slot] = no_row;
        free_.push_back(slot);
        --count_;
    }
    /// Another capacity, at most slots(). Rows beyond it must be removed by whoever asked.
    void set_capacity(SlotId capacity);
    /// Of residents without rows: the lowest slots are taken first, as at the start, so that as
    /// long as the capacity is not raised no other one is used.
    void sort_free();
    /// Memory held, in bytes.
    [[nodiscard]] std::uint64_t bytes() const noexcept;

private:
    std::vector<SlotId> slot_of_;  ///< by row
    std::vector<RowKey> row_of_;   ///< by slot
    std::vector<SlotId> free_;     ///< taken from the back; lowest slots first at the start
    SlotId capacity_;
    SlotId count_ = 0;
};

}  // namespace rudder::buffer
