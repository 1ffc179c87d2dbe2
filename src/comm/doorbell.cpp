#include "doorbell.hpp"

#include <ctime>

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rudder::comm {

namespace {

/// Lets this thread's sleeps end when they should, not up to 50 us later.
void sleep_exactly() {
    thread_local const int done = ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    static_cast<void>(done);
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* deadline) noexcept {
    return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, deadline,
                     nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

void Doorbell::ring() noexcept {
    rings_.fetch_add(1);
    if (asleep_.load() == 0 || attended()) return;
    // Once is enough: the next who ring before it wakes need not call again.
    if (asleep_.exchange(0) != 0) futex(rings_, FUTEX_WAKE, 1, nullptr);
}

bool Doorbell::sleep(std::uint32_t seen, Duration deadline) noexcept {
    sleep_exactly();
    constexpr Duration::rep second = 1'000'000'000;
    timespec until{};
    until.tv_sec = deadline.count() / second;
    until.tv_nsec = deadline.count() % second;
    asleep_.store(1);
    // Who rings after this finds us asleep, or has changed the number that the kernel compares.
    const long code =
        futex(rings_, FUTEX_WAIT_BITSET, seen, deadline == no_deadline ? nullptr : &until);
    const bool late = code != 0 && errno == ETIMEDOUT;
    asleep_.store(0);
    return !late;
}

}  // namespace rudder::comm
