// The executor on threads and the real clock.
#pragma once

#include <memory>

#include "executor.hpp"

namespace rudder {

/// Each running task has a thread of its own; threads of ended tasks are used again. Destruction
/// waits for all tasks.
class ThreadExecutor final : public Executor {
public:
    ThreadExecutor();
    ~ThreadExecutor() override;

    [[nodiscard]] Duration now() const override;
    void call_at(Duration when, std::function<void()> f) override;
    void yield() override;
    void charge(Duration time) override;
    [[nodiscard]] bool simulated() const noexcept override { return false; }

    /// The one of this process, for code that has no executor of its own.
    [[nodiscard]] static ThreadExecutor& process();

protected:
    std::shared_ptr<TaskState> make_task(std::string name, std::function<void()> body) override;
    void start(std::shared_ptr<TaskState> task) override;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder
