// The executor: everything that waits, sends or queues is a task on it. Two bodies run the same
// code: threads on the real clock, and a seeded scheduler of fibers on a virtual one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rudder/core/error.hpp"

namespace rudder {

/// A point or a stretch of an executor's time; points count from its start.
using Duration = std::chrono::nanoseconds;
[[nodiscard]] inline double to_seconds(Duration time) {
    return std::chrono::duration<double>(time).count();
}

/// "For ever" as a deadline.
inline constexpr Duration no_deadline = Duration::max();

class Executor;
class TaskState;

/// Thrown out of a wait in a task that was cancelled. Not an Error: only the executor catches it.
struct Cancelled {};

/// A handle of a spawned task. Copies refer to the same task; dropping it lets the task run on.
class Task {
public:
    Task() = default;
    explicit Task(std::shared_ptr<TaskState> state) : state_(std::move(state)) {}

    /// Waits for the task's end and rethrows what it threw (a cancelled task throws nothing).
    void join();
    /// The same, and lets go of the task if it has ended: not where the wait was cancelled.
    void finish();
    /// Makes its present or next wait throw Cancelled; a task that has not begun never does. Safe
    /// at any moment, from any task.
    void cancel();
    [[nodiscard]] bool done() const;
    /// Waits for the task's end whatever happens, also where the caller has been cancelled itself,
    /// and drops what the task threw. For destructors: a task uses what its owner is about to free.
    void settle() noexcept;
    /// Cancels the task, and settles.
    void end() noexcept;
    [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
    [[nodiscard]] const std::string& name() const;

private:
    std::shared_ptr<TaskState> state_;
};

/// Runs tasks. A task may wait (through Monitor and what is built on it), spawn others, and read
/// the time; it must not block by other means.
class Executor {
public:
    virtual ~Executor() = default;

    /// Starts a task: of the simulated rank given, or else of that of the calling task.
    Task spawn(std::string name, std::function<void()> body,
               std::optional<int> rank = std::nullopt);
    /// The time since the executor's start.
    [[nodiscard]] virtual Duration now() const = 0;
    /// Calls `f` at that time, outside any task; it may post and notify, not wait.
    virtual void call_at(Duration when, std::function<void()> f) = 0;
    /// Lets the calling task rest until then.
    void sleep_until(Duration when);
    void sleep_for(Duration time) { sleep_until(now() + time); }
    /// Lets other tasks run.
    virtual void yield() = 0;
    /// States that a computation took this long: passes virtual time, and nothing on threads.
    virtual void charge(Duration time) = 0;
    [[nodiscard]] virtual bool simulated() const noexcept = 0;

    /// The executor of the calling task; on a thread that is no task's, the process-wide threads.
    [[nodiscard]] static Executor& current();

protected:
    [[nodiscard]] virtual std::shared_ptr<TaskState> make_task(std::string name,
                                                               std::function<void()> body) = 0;
    virtual void start(std::shared_ptr<TaskState> task) = 0;
};

/// A wait where none is allowed: a bug of ours.
class WaitForbidden : public InternalError {
public:
    explicit WaitForbidden(const char* place);
};

/// Forbids waiting on this thread for as long as it lives: inside data-parallel loops, gradient
/// hooks and other places where a wait could deadlock. A wait then throws an InternalError that
/// names `place`.
class NoWaitScope {
public:
    explicit NoWaitScope(const char* place) noexcept;
    ~NoWaitScope();
    NoWaitScope(NoWaitScope&&) = delete;

    /// The innermost scope's place on this thread, or nullptr.
    [[nodiscard]] static const char* current() noexcept;

private:
    const char* outer_;
};

}  // namespace rudder
