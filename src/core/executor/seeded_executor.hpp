// The executor on one thread, a seed and a virtual clock: the same seed gives the same run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "executor.hpp"

namespace rudder {

/// Runs tasks as fibers, one at a time, choosing among those that can run by a seeded draw; time
/// passes only when none can. Taking a lock is a point where another task may come first, so that
/// seeds explore interleavings.
///
/// Tasks that have not ended when it is stopped or destroyed are cancelled and unwound then, so
/// what they refer to must outlive that.
class SeededExecutor final : public Executor {
public:
    explicit SeededExecutor(std::uint64_t seed);
    ~SeededExecutor() override;

    /// Runs until all tasks have ended. If none can run and no call is due, that is a deadlock: an
    /// Error of kind `rank` that names each task and what it waits for.
    void run();

    /// Cancels all tasks that have not ended (after a failure, or of ranks that died) and lets them
    /// unwind to their end. Never called by a task.
    void stop();

    /// Holds back all tasks of a rank until `when` (no_deadline: for ever, as if they had died;
    /// they are cancelled when the executor is stopped).
    void pause(int rank, Duration when);

    [[nodiscard]] Duration now() const override;
    void call_at(Duration when, std::function<void()> f) override;
    void yield() override;
    void charge(Duration time) override;
    [[nodiscard]] bool simulated() const noexcept override { return true; }

    /// A draw of the schedule's own stream, for models that belong to the run (network, faults).
    [[nodiscard]] std::uint64_t draw(std::uint64_t bound);

    /// Lets another task that can run come first, sometimes.
    void interleave();

    struct State;

protected:
    std::shared_ptr<TaskState> make_task(std::string name, std::function<void()> body) override;
    void start(std::shared_ptr<TaskState> task) override;

private:
    std::unique_ptr<State> state_;
};

/// A place where the seeded scheduler may let another task run; nothing on threads.
void interleaving_point();

}  // namespace rudder
