// Where tasks wait for operations: asleep until theirs is done, the rank fails or a signal ends it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "core/executor/executor.hpp"
#include "rudder/comm/request.hpp"

namespace rudder::comm {

/// Shared by the bodies whose messages come while nobody looks. Any thread may call.
class WaitingRoom {
public:
    /// Messages of a modelled link, which come at a known time: who waits may stay awake for it,
    /// since a sleep may end late; but for no more than a hundredth of the time.
    struct Link {
        std::function<Duration()> next_due;  ///< when the first may be handed over
        std::function<void()> hand_over;     ///< what is due
    };

    WaitingRoom();
    WaitingRoom(WaitingRoom&&) = delete;

    /// Sleeps until the operation is done. Throws what the rank failed with, Cancelled where the
    /// task is, and some time after a signal its Error, with which the rank then fails.
    void sleep(const Operation& operation, const Link* link = nullptr);
    /// An operation has ended: wakes who waits for it.
    void completed();
    /// Whether anybody sleeps here.
    [[nodiscard]] bool anybody() const noexcept { return asleep_.load() > 0; }

    /// All waits end with it from now on; the first one counts.
    void fail(const std::exception_ptr& failure) noexcept;
    [[nodiscard]] bool failed() const noexcept { return failed_.load(); }
    /// Whether a signal was what it failed with: who waits ends the rank then.
    [[nodiscard]] bool failed_by_signal() const noexcept { return by_signal_.load(); }
    [[nodiscard]] const std::exception_ptr& failure() const noexcept { return failure_; }
    void check_failure() const;

private:
    struct Sleeper {
        const Operation* operation;
        std::condition_variable wake{};
        bool called = false;
    };

    void leave_if_interrupted(std::optional<Duration>& since);
    [[nodiscard]] bool may_stay_awake(Duration now);
    void stay_awake(const Operation& operation, const Link& link, Duration due,
                    std::unique_lock<std::mutex>& lock);

    std::mutex mutex_;  ///< guards what follows
    std::vector<Sleeper*> sleepers_;
    Duration awake_left_;   ///< for which tasks may stay awake
    Duration awake_noted_;  ///< when that was reckoned
    std::atomic<int> asleep_{0};

    std::atomic<bool> failed_{false};
    std::atomic<bool> by_signal_{false};
    std::mutex failure_mutex_;
    std::exception_ptr failure_;  ///< set once, before `failed_`
};

}  // namespace rudder::comm
