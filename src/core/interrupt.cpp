#include "interrupt.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

#include <sys/prctl.h>
#include <unistd.h>

#include "rudder/core/error.hpp"

namespace rudder {

namespace {

std::atomic<bool> flag{false};
std::atomic<int> deferred{0};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

/// When the first signal came, in ns of the monotonic clock.
std::atomic<std::int64_t> first_signal{0};
constexpr std::int64_t same_signal_ns = 200'000'000;
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "set from a signal handler");

extern "C" void rudder_on_signal(int) {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    const std::int64_t now = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    if (!flag.exchange(true)) {
        first_signal.store(now);
    } else if (now - first_signal.load() > same_signal_ns) {
        ::_exit(static_cast<int>(ErrorKind::interrupted));
    }
}

}  // namespace

void install_interrupt_handler() {
    struct sigaction action {};
    action.sa_handler = rudder_on_signal;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    struct sigaction hang_up {};
    ::sigaction(SIGHUP, nullptr, &hang_up);
    if (hang_up.sa_handler == SIG_DFL) ::sigaction(SIGHUP, &action, nullptr);
}

bool interrupted() noexcept {
    return flag.load(std::memory_order_relaxed);
}

bool interrupts_deferred() noexcept {
    return deferred.load(std::memory_order_relaxed) != 0;
}

DeferInterrupts::DeferInterrupts() noexcept {
    deferred.fetch_add(1, std::memory_order_relaxed);
}

DeferInterrupts::~DeferInterrupts() {
    deferred.fetch_sub(1, std::memory_order_relaxed);
}

void throw_if_interrupted() {
    if (!interrupts_deferred()) throw_if_interrupted_at_once();
}

void throw_if_interrupted_at_once() {
    if (!interrupted()) return;
    throw Error(ErrorKind::interrupted, "interrupted", "", "nothing was left behind; start again");
}

void set_interrupted(bool value) noexcept {
    flag.store(value, std::memory_order_relaxed);
}

void end_with_parent(pid_t parent, int signal) noexcept {
    ::prctl(PR_SET_PDEATHSIG, signal);
    if (::getppid() != parent) ::_exit(static_cast<int>(ErrorKind::interrupted));
}

}  // namespace rudder
