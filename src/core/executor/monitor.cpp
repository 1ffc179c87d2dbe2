#include "monitor.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/profile.hpp"

#include "seeded_executor.hpp"
#include "task_state.hpp"

namespace rudder {

namespace {

/// Fibers share a thread, so a fiber must never block on a mutex that another one holds.
void acquire(std::mutex& mutex) {
    Executor& executor = Executor::current();
    if (!executor.simulated()) {
        mutex.lock();
        return;
    }
    interleaving_point();
    while (!mutex.try_lock())
        executor.yield();
}

}  // namespace

Monitor::Lock::Lock(Monitor& monitor) : monitor_(monitor) {
    acquire(monitor.mutex_);
}

Monitor::~Monitor() {
    if (inside_ == 0) return;
    std::fputs("rudder: internal error: a task waits in a monitor that is being freed\n", stderr);
    std::abort();
}

bool Monitor::wait_once(Lock& /*lock*/, std::string_view what, Duration deadline) {
    TaskState& me = TaskState::current();
    if (const char* place = NoWaitScope::current()) throw WaitForbidden(place);
    if (me.cancelled()) throw Cancelled{};
    if (deadline != no_deadline && me.executor().now() >= deadline) return false;
    me.set_waiting_for(what);  // may throw, and nothing is left behind
    {
        const std::scoped_lock lock(waiters_mutex_);
        waiters_.push_back(&me);
        ++inside_;
    }
    const std::uint64_t start = Profiler::on() ? Profiler::now() : 0;
    mutex_.unlock();
    me.park(deadline);
    acquire(mutex_);
    me.set_waiting_for("");
    {
        const std::scoped_lock lock(waiters_mutex_);
        const auto mine = std::ranges::find(waiters_, &me);
        if (mine != waiters_.end()) waiters_.erase(mine);
        --inside_;
    }
    if (start != 0) Profiler::wait(what, start, Profiler::now());
    if (me.cancelled()) throw Cancelled{};
    return deadline == no_deadline || me.executor().now() < deadline;
}

void Monitor::notify_all() {
    const std::scoped_lock lock(waiters_mutex_);
    for (TaskState* waiter : waiters_)
        waiter->unpark();
    waiters_.clear();
}

}  // namespace rudder
