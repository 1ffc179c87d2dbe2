// Doorbells: how processes of one machine tell each other that a message has come.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/executor/executor.hpp"

namespace rudder::comm {

/// One process's bell, in memory it shares with those who ring it; zeroed memory is one. Whoever
/// sends it a message rings; its one listener sleeps in between, which costs nothing.
class Doorbell {
public:
    /// How often it has been rung; to be read before one looks for what has come.
    [[nodiscard]] std::uint32_t rings() const noexcept {
        return rings_.load(std::memory_order_acquire);
    }
    /// Wakes the listener if it sleeps.
    void ring() noexcept;
    /// Sleeps until it is rung, unless it was since `seen`, or until `deadline` of the machine's
    /// monotonic clock. May return early. False if the deadline has passed.
    bool sleep(std::uint32_t seen, Duration deadline) noexcept;
    /// While somebody looks for messages all the time, ringing wakes nobody.
    void set_attended(bool attended) noexcept { attended_.store(attended ? 1 : 0); }
    [[nodiscard]] bool attended() const noexcept { return attended_.load() != 0; }

private:
    std::atomic<std::uint32_t> rings_;
    std::atomic<std::uint32_t> asleep_;
    std::atomic<std::uint32_t> attended_;
};

}  // namespace rudder::comm
