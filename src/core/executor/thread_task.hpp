// A task that parks its thread.
#pragma once

#include <condition_variable>
#include <mutex>

#include "task_state.hpp"

namespace rudder {

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
