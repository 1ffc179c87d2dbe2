#include "waiting_room.hpp"

#include <algorithm>
#include <chrono>

#include "core/executor/task_state.hpp"
#include "core/interrupt.hpp"
#include "core/span.hpp"

#include "modelled_link.hpp"

namespace rudder::comm {

namespace {

using namespace std::chrono_literals;

/// Tasks that sleep look up now and then, for cancels and signals.
constexpr auto look_up = 20ms;
/// How long before a message of a modelled link is due it is waited for awake.
constexpr auto awake_before_due = 60us;
constexpr int awake_share = 100;
constexpr auto most_awake = 10ms;
/// After a signal the ranks agree on where to stop, so a wait goes on; but not for ever, since the
/// others may be gone. Work that stops at a place of its own (DeferInterrupts) gets there by a step
/// and a checkpoint: it has nearly as long as batch systems leave.
constexpr auto patience_after_signal = 500ms;
constexpr auto patience_deferred = 20s;

}  // namespace

WaitingRoom::WaitingRoom() : awake_left_(most_awake), awake_noted_(machine_now()) {}

void WaitingRoom::sleep(const Operation& operation, const Link* link) {
    const TaskState& me = TaskState::current();
    std::optional<Span> waiting;  // told to the watchdog
    std::optional<Duration> signalled;
    Sleeper sleeper{&operation};
    std::unique_lock lock(mutex_);
    asleep_.fetch_add(1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    sleepers_.push_back(&sleeper);
    struct Leaving {
        WaitingRoom& room;
        Sleeper& sleeper;
        ~Leaving() {
            std::erase(room.sleepers_, &sleeper);
            room.asleep_.fetch_sub(1);
        }
    };
    const Leaving leaving{*this, sleeper};
    while (!operation.done()) {
        if (me.cancelled()) throw Cancelled{};
        check_failure();
        leave_if_interrupted(signalled);
        if (!waiting) waiting.emplace(waiting_phase);
        const Duration now = machine_now();
        const Duration due =
            link != nullptr && may_stay_awake(now) ? link->next_due() : Duration::max();
        if (due - now < awake_before_due) {
            stay_awake(operation, *link, due, lock);
            continue;
        }
        const Duration nap = std::min<Duration>(look_up, due - now - awake_before_due);
        sleeper.wake.wait_for(lock, nap, [&] { return sleeper.called; });
    }
}

/// Whether there is time left to; under the lock.
bool WaitingRoom::may_stay_awake(Duration now) {
    awake_left_ = std::min<Duration>(most_awake, awake_left_ + (now - awake_noted_) / awake_share);
    awake_noted_ = now;
    return awake_left_ > awake_before_due;
}

void WaitingRoom::stay_awake(const Operation& operation, const Link& link, Duration due,
                             std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const Duration begin = machine_now();
    while (!operation.done() && machine_now() < due) {
    }
    link.hand_over();
    lock.lock();
    awake_left_ -= machine_now() - begin;
}

void WaitingRoom::completed() {
    // The operation is done before it is asked who waits; who waits says so before it asks.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (asleep_.load() == 0) return;
    const std::scoped_lock lock(mutex_);
    for (Sleeper* sleeper : sleepers_) {
        if (sleeper->called || !sleeper->operation->done()) continue;
        sleeper->called = true;
        sleeper->wake.notify_one();
    }
}

void WaitingRoom::fail(const std::exception_ptr& failure) noexcept {
    const std::scoped_lock lock(failure_mutex_);
    if (failed_.load()) return;
    failure_ = failure;
    failed_.store(true);
}

void WaitingRoom::check_failure() const {
    if (failed_.load()) std::rethrow_exception(failure_);
}

void WaitingRoom::leave_if_interrupted(std::optional<Duration>& since) {
    if (!interrupted()) return;
    if (!since) since = machine_now();
    const Duration patience =
        interrupts_deferred() ? Duration(patience_deferred) : Duration(patience_after_signal);
    if (machine_now() - *since <= patience) return;
    try {
        throw_if_interrupted_at_once();
    } catch (...) {
        by_signal_.store(true);
        fail(std::current_exception());
        throw;
    }
}

}  // namespace rudder::comm
