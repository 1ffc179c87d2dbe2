// What executors keep of a task: its name, how it ended, and the parking place it waits in.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "executor.hpp"

namespace rudder {

/// A task. Bodies of the executor derive from it to say how it parks.
///
/// Parking has a permit: `unpark` gives it (at most one), `park` takes it or waits for it. A
/// wake-up that comes before the wait is therefore never lost, whether from a notification or a
/// cancel.
class TaskState {
public:
    TaskState(Executor& executor, std::string name, std::function<void()> body);
    virtual ~TaskState() = default;

    /// Waits until unparked or `deadline`; `what` says what for. Only the task itself calls it.
    virtual void park(Duration deadline) = 0;
    /// Ends the present or next park. Any task or thread may call it.
    virtual void unpark() = 0;

    /// Runs the body and records how it ended; called once, by the executor.
    void run();
    void cancel();
    [[nodiscard]] bool cancelled() const noexcept {
        return cancelled_.load(std::memory_order_acquire);
    }
    [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
    void join();
    void settle() noexcept;
    /// What the body threw, unless a join has passed it on.
    [[nodiscard]] std::exception_ptr unseen_failure() const noexcept;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] Executor& executor() const noexcept { return executor_; }
    /// The simulated rank it works for: given at its start, or that of the task that spawned it.
    [[nodiscard]] std::optional<int> rank() const noexcept { return rank_; }
    void set_rank(std::optional<int> rank) noexcept { rank_ = rank; }

    /// Whether its waits for messages are in no hurry (patience.hpp). The task's own affair.
    void set_patient() noexcept { patient_ = true; }
    [[nodiscard]] bool patient() const noexcept { return patient_; }

    /// What the task waits for, for reports of deadlocks. Written by the task, read while it waits.
    void set_waiting_for(std::string_view what);
    [[nodiscard]] std::string waiting_for() const;

    /// The task running on this thread now; one is made up for threads of no executor.
    [[nodiscard]] static TaskState& current();
    /// The same; null on threads of no executor.
    [[nodiscard]] static TaskState* running() noexcept;
    static TaskState* set_current(TaskState* task) noexcept;

private:
    void wait_for_end(bool must);

    Executor& executor_;
    std::string name_;
    std::optional<int> rank_;
    std::function<void()> body_;
    std::exception_ptr failure_;
    bool failure_seen_ = false;
    bool patient_ = false;
    std::atomic<bool> cancelled_{false};
    std::atomic<bool> done_{false};
    mutable std::mutex mutex_;  // guards waiting_for_ and the list of joiners
    std::string waiting_for_;
    TaskState* first_joiner_ = nullptr;  ///< a list, so that waiting needs no memory
    TaskState* next_joiner_ = nullptr;   ///< of the task that this one waits for
};

struct TimedCall {
    Duration when;
    std::uint64_t order;
    std::function<void()> call;
    friend bool operator<(const TimedCall& a, const TimedCall& b) {
        return a.when != b.when ? a.when > b.when : a.order > b.order;  // earliest on top
    }
};

class ThreadTask final : public TaskState {
public:
    using TaskState::TaskState;

    void park(Duration deadline) override;
    void unpark() override;

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool permit_ = false;
};

}  // namespace rudder
