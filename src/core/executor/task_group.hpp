// Tasks that use what their owner has, and end with it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "executor.hpp"

namespace rudder {

/// As its owner's last member, so that its tasks end before anything they use: also where the
/// owner's constructor throws when some of them have begun.
class TaskGroup {
public:
    TaskGroup() = default;
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;
    ~TaskGroup() { end(); }

    void spawn(std::string name, std::function<void()> body) {
        tasks_.reserve(tasks_.size() + 1);  // nothing may fail once the task has begun
        tasks_.push_back(Executor::current().spawn(std::move(name), std::move(body)));
    }
    /// Waits for all of them and rethrows what the first that failed threw.
    void join() {
        for (Task& task : tasks_)
            task.join();
        tasks_.clear();
    }
    /// Cancels all of them, then waits for their ends whatever happens.
    void end() noexcept {
        for (Task& task : tasks_)
            task.cancel();
        for (Task& task : tasks_)
            task.settle();
        tasks_.clear();
    }

private:
    std::vector<Task> tasks_;
};

}  // namespace rudder
