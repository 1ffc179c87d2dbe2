// A thread that does one thing after the other, and callers that wait for it but can be called
// away.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rudder/core/function_ref.hpp"

namespace rudder::python {

/// What a caller does every so often while it waits. What it throws ends the wait, not the work.
using Poll = FunctionRef<void()>;

/// Whoever drops a worker does not wait for it: what was handed in is still done. In a process that
/// was forked its thread does not exist; there it refuses all work (usage Error) and is dropped
/// without a trace.
class Worker {
public:
    /// `what` it serves is named where a forked process uses it.
    explicit Worker(std::string what);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Has it done, and waits for that; throws what it threw.
    void run(std::function<void()> work, Poll poll);
    /// Has it done some time; drops what it throws.
    void post(std::function<void()> work);
    /// Whether this is the process that made it.
    [[nodiscard]] bool here() const noexcept;

    /// Waits until all that were dropped have done what they were given.
    static void wait_for_dropped(Poll poll);

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace rudder::python
