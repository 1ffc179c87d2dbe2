// A mutex and a waiting room in one: the primitive that everything waiting is built on.
#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "executor.hpp"

namespace rudder {

class TaskState;

/// Guards data shared by tasks and lets them wait for it to change. Works the same on threads and
/// on fibers; a task that is cancelled while it waits leaves with Cancelled.
class Monitor {
public:
    class Lock {
    public:
        explicit Lock(Monitor& monitor);
        ~Lock() { monitor_.mutex_.unlock(); }
        Lock(Lock&&) = delete;

    private:
        friend class Monitor;
        Monitor& monitor_;
    };

    Monitor() = default;
    /// Nobody may be waiting any more: whoever does wakes in freed memory. Ends the program if so.
    ~Monitor();
    Monitor(Monitor&&) = delete;

    /// Waits, with the lock released, until `ready()` holds; it is asked again after each notify.
    /// `what` says in a few words what for, and must outlive the wait.
    template <class Ready>
    void wait(Lock& lock, std::string_view what, Ready&& ready) {
        while (!ready())
            wait_once(lock, what, no_deadline);
    }
    /// The same until `deadline` at most; false if that came first.
    template <class Ready>
    [[nodiscard]] bool wait_until(Lock& lock, std::string_view what, Duration deadline,
                                  Ready&& ready) {
        while (!ready()) {
            if (!wait_once(lock, what, deadline)) return ready();
        }
        return true;
    }
    /// Wakes all who wait. The lock may be held or not.
    void notify_all();

private:
    /// One wait; false once the deadline has passed.
    bool wait_once(Lock& lock, std::string_view what, Duration deadline);

    std::mutex mutex_;
    std::mutex waiters_mutex_;  // innermost: held for a few instructions, never while parking
    std::vector<TaskState*> waiters_;
    std::size_t inside_ = 0;  ///< waits that have not been left, notified or not
};

}  // namespace rudder
