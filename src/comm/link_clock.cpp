#include "link_clock.hpp"

#include <algorithm>

#include <sched.h>

namespace rudder::comm {

namespace {

constexpr std::size_t index_of(LinkClass which) noexcept {
    return static_cast<std::size_t>(which);
}

}  // namespace

LinkClass link_class(Kind kind, std::size_t bytes) noexcept {
    // Rows never pass gradients, however few of them a message holds: many short messages fill a
    // link as well as a long one does.
    if (kind == Kind::features) return LinkClass::demand;
    if (kind == Kind::features_ahead) return LinkClass::ahead;
    if (bytes <= small_message_bytes) return LinkClass::first;
    switch (kind) {
        case Kind::gradients:
        case Kind::control:
            return LinkClass::first;
        case Kind::requests_ahead:
            return LinkClass::ahead;
        case Kind::evaluation:
            return LinkClass::last;
        default:
            return LinkClass::demand;
    }
}

LinkStamp LinkClock::send(LinkClass which, Duration now, Duration transfer) noexcept {
    // Held for a few instructions; who is put to sleep meanwhile is waited for.
    while (locked_.exchange(1, std::memory_order_acquire) != 0)
        ::sched_yield();
    const std::size_t own = index_of(which);
    for (std::size_t c = own; c < link_classes; ++c) {
        const Duration::rep free = free_[c].load(std::memory_order_relaxed);
        free_[c].store(std::max(free, now.count()) + transfer.count(), std::memory_order_relaxed);
        work_[c].store(work_[c].load(std::memory_order_relaxed) + transfer.count(),
                       std::memory_order_relaxed);
    }
    const LinkStamp stamp{free_[own].load(std::memory_order_relaxed),
                          own == 0 ? 0 : work_[own - 1].load(std::memory_order_relaxed)};
    locked_.store(0, std::memory_order_release);
    return stamp;
}

bool LinkClock::passed(LinkClass which, LinkStamp& stamp) const noexcept {
    const std::size_t own = index_of(which);
    if (own == 0) return false;
    const Duration::rep work = work_[own - 1].load(std::memory_order_relaxed);
    if (work == stamp.passed) return false;
    stamp.left += work - stamp.passed;
    stamp.passed = work;
    return true;
}

}  // namespace rudder::comm
