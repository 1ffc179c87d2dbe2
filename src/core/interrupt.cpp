#include "interrupt.hpp"

#include <atomic>
#include <csignal>

#include <unistd.h>

#include "rudder/core/error.hpp"

namespace rudder {

namespace {

std::atomic<bool> flag{false};
std::atomic<int> deferred{0};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

extern "C" void rudder_on_signal(int) {
    if (flag.exchange(true)) ::_exit(static_cast<int>(ErrorKind::interrupted));
}

}  // namespace

void install_interrupt_handler() {
    struct sigaction action {};
    action.sa_handler = rudder_on_signal;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept {
    return flag.load(std::memory_order_relaxed);
}

DeferInterrupts::DeferInterrupts() noexcept {
    deferred.fetch_add(1, std::memory_order_relaxed);
}

DeferInterrupts::~DeferInterrupts() {
    deferred.fetch_sub(1, std::memory_order_relaxed);
}

void throw_if_interrupted() {
    if (deferred.load(std::memory_order_relaxed) == 0) throw_if_interrupted_at_once();
}

void throw_if_interrupted_at_once() {
    if (!interrupted()) return;
    throw Error(ErrorKind::interrupted, "interrupted", "", "nothing was left behind; start again");
}

void set_interrupted(bool value) noexcept {
    flag.store(value, std::memory_order_relaxed);
}

}  // namespace rudder
