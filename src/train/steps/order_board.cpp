#include "order_board.hpp"

#include <algorithm>
#include <bit>

namespace rudder::train {

OrderBoard::OrderBoard(const comm::Communicator& comm) : board_(comm.host().share<Board>(1)) {
    static_assert(Word::is_always_lock_free);
}

void OrderBoard::post(const steer::PackedOrder& order) {
    const std::uint64_t number = board().posted.load(std::memory_order_relaxed);
    Place& place = board().ring[number % places];
    place.version.store(2 * number + 1, std::memory_order_relaxed);
    const auto packed = std::bit_cast<std::array<std::uint64_t, words>>(order);
    // Who reads one of these words reads an odd version, or a later one, after it.
    for (std::size_t i = 0; i < words; ++i)
        place.order[i].store(packed[i], std::memory_order_release);
    place.version.store(2 * number + 2, std::memory_order_release);
    board().posted.store(number + 1, std::memory_order_release);
}

std::optional<steer::PackedOrder> OrderBoard::poll() {
    const std::uint64_t posted = board().posted.load(std::memory_order_acquire);
    read_ = std::max(read_, posted - std::min(posted, places));
    while (read_ < posted) {
        const std::uint64_t number = read_++;
        const Place& place = board().ring[number % places];
        std::array<std::uint64_t, words> packed{};
        const std::uint64_t before = place.version.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < words; ++i)
            packed[i] = place.order[i].load(std::memory_order_acquire);
        if (before != 2 * number + 2 || place.version.load(std::memory_order_relaxed) != before)
            continue;  // overwritten meanwhile
        return std::bit_cast<steer::PackedOrder>(packed);
    }
    return std::nullopt;
}

}  // namespace rudder::train
