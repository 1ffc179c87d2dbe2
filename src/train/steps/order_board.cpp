#include "order_board.hpp"

#include <algorithm>
#include <cstring>

#include "rudder/core/check.hpp"

namespace rudder::train {

OrderBoard::OrderBoard(const comm::Communicator& comm) : board_(comm.host().share<Board>(1)) {
    static_assert(Word::is_always_lock_free);
}

void OrderBoard::post(std::string_view text) {
    RUDDER_CHECK(text.size() <= steer::Order::most_bytes);
    const std::uint64_t number = board().posted.load(std::memory_order_relaxed);
    Place& place = board().ring[number % places];
    place.version.store(2 * number + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    std::array<std::uint64_t, words> packed{};
    std::memcpy(packed.data(), text.data(), text.size());
    for (std::size_t i = 0; i < words; ++i)
        place.text[i].store(packed[i], std::memory_order_relaxed);
    place.size.store(text.size(), std::memory_order_relaxed);
    place.version.store(2 * number + 2, std::memory_order_release);
    board().posted.store(number + 1, std::memory_order_release);
}

std::optional<std::string> OrderBoard::poll() {
    const std::uint64_t posted = board().posted.load(std::memory_order_acquire);
    read_ = std::max(read_, posted - std::min(posted, places));
    while (read_ < posted) {
        const std::uint64_t number = read_++;
        const Place& place = board().ring[number % places];
        std::array<std::uint64_t, words> packed{};
        const std::uint64_t before = place.version.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < words; ++i)
            packed[i] = place.text[i].load(std::memory_order_relaxed);
        const std::uint64_t size = place.size.load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (before != 2 * number + 2 || place.version.load(std::memory_order_relaxed) != before)
            continue;  // overwritten meanwhile
        std::string text(std::min<std::uint64_t>(size, steer::Order::most_bytes), '\0');
        std::memcpy(text.data(), packed.data(), text.size());
        return text;
    }
    return std::nullopt;
}

}  // namespace rudder::train
