#include "rudder/buffer/residents.hpp"

namespace rudder::buffer {

Residents::Residents(SlotId slots, SlotId capacity)
    : row_of_(slots, no_row), free_(slots), capacity_(capacity) {
    RUDDER_CHECK(slots < no_slot && capacity <= slots);
    for (SlotId i = 0; i < slots; ++i)
        free_[i] = slots - 1 - i;
}

std::uint32_t Residents::look_up(std::span<const RowKey> rows,
                                 std::span<SlotId> out) const noexcept {
    std::uint32_t found = 0;
    const SlotId* slots = slot_of_.data();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        out[i] = slots[rows[i]];
        found += out[i] != no_slot ? 1U : 0U;
    }
    return found;
}

void Residents::set_capacity(SlotId capacity) {
    RUDDER_CHECK(capacity <= slots());
    capacity_ = capacity;
}

std::uint64_t Residents::bytes() const noexcept {
    return slot_of_.capacity() * sizeof(SlotId) + row_of_.capacity() * sizeof(RowKey) +
           free_.capacity() * sizeof(SlotId);
}

}  // namespace rudder::buffer
