// The watchdog: notices dead and stuck ranks from outside the working thread, and ends the job.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "rudder/comm/communicator.hpp"

namespace rudder::comm {

struct WatchdogOptions {
    /// A rank that neither advances nor waits for this long is stuck.
    std::chrono::milliseconds stuck_after = std::chrono::minutes(10);
    /// Watches ranks of the same machine as if they were on others (for tests).
    bool connections_only = false;
    /// Called on the watchdog's thread when the job must end; must not return. The default prints
    /// the reason, leaves the rank's status, and ends the process with the code.
    std::function<void(int code, const std::string& reason)> on_end{};
    /// Called with both just before that, on the same thread; must return soon.
    std::function<void(int code, const std::string& reason)> last_words{};
};

/// Watches all ranks of a communicator, each rank with a thread of its own.
///
/// Death is noticed by what cannot lie: the process handle on the same machine, the closed
/// connection between machines. Slowness alone is never taken for death. What a rank is doing
/// (core's spans) is published ten times a second, so that a stuck rank is named with its phase.
class Watchdog {
public:
    /// Collective. `comm` must outlive it.
    Watchdog(const Communicator& comm, const WatchdogOptions& options);
    /// Tells the others that this rank has finished.
    ~Watchdog();

    /// Tells the others that this rank fails, before it exits: they end with the same code.
    void announce_failure(int code, const std::string& reason);
    /// Whether a peer is gone, or silent for longer than its heartbeats allow: a signal that
    /// arrives now is part of the job's end, not the user's wish.
    [[nodiscard]] bool peer_missing() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::comm
