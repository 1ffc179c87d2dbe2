// The way of callbacks to memory that their caller may take back.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace rudder::comm {

/// Open at first. Calls pass side by side; once it is closed none passes, and none is inside.
class Gate {
public:
    /// Calls `f` unless the gate is closed. `f` must not pass the same gate.
    template <class F>
    void pass(F&& f) {
        const std::shared_lock lock(mutex_);
        if (!closed_) f();
    }
    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
    }

private:
    std::shared_mutex mutex_;
    bool closed_ = false;
};

}  // namespace rudder::comm
