#include "thread_executor.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "task_state.hpp"

namespace rudder {

using Clock = std::chrono::steady_clock;

namespace {

/// One zero for all thread executors of a process, so that their times can be compared.
Clock::time_point process_start() {
    static const Clock::time_point start = Clock::now();
    return start;
}

}  // namespace

void ThreadTask::park(Duration deadline) {
    std::unique_lock lock(mutex_);
    const auto awake = [this] { return permit_; };
    if (deadline == no_deadline) {
        changed_.wait(lock, awake);
    } else {
        changed_.wait_until(lock, process_start() + deadline, awake);
    }
    permit_ = false;
}

void ThreadTask::unpark() {
    const std::scoped_lock lock(mutex_);
    permit_ = true;
    changed_.notify_one();
}

struct ThreadExecutor::State {
    std::mutex mutex;
    std::condition_variable work_changed;
    std::condition_variable timers_changed;
    std::deque<std::shared_ptr<TaskState>> waiting;
    std::priority_queue<TimedCall> timers;
    std::vector<std::thread> threads;
    std::thread timer_thread;
    std::size_t idle = 0;
    std::uint64_t next_order = 0;
    bool stopping = false;

    void work() {
        std::unique_lock lock(mutex);
        for (;;) {
            ++idle;
            work_changed.wait(lock, [this] { return stopping || !waiting.empty(); });
            --idle;
            if (waiting.empty()) return;
            const std::shared_ptr<TaskState> task = std::move(waiting.front());
            waiting.pop_front();
            lock.unlock();
            run(*task);
            lock.lock();
        }
    }

    static void run(TaskState& task) {
        TaskState* outer = TaskState::set_current(&task);
        task.run();
        TaskState::set_current(outer);
    }

    void serve_timers() {
        std::unique_lock lock(mutex);
        while (!stopping) {
            if (timers.empty()) {
                timers_changed.wait(lock);
                continue;
            }
            const auto due = process_start() + timers.top().when;
            if (Clock::now() < due) {
                timers_changed.wait_until(lock, due);
                continue;
            }
            const auto call = timers.top().call;
            timers.pop();
            lock.unlock();
            {
                const NoWaitScope no_wait("a timer's call");
                call();
            }
            lock.lock();
        }
    }
};

ThreadExecutor::ThreadExecutor() : state_(std::make_unique<State>()) {
    process_start();
}

ThreadExecutor::~ThreadExecutor() {
    {
        const std::scoped_lock lock(state_->mutex);
        state_->stopping = true;
    }
    state_->work_changed.notify_all();
    state_->timers_changed.notify_all();
    for (std::thread& thread : state_->threads)
        thread.join();
    if (state_->timer_thread.joinable()) state_->timer_thread.join();
}

Duration ThreadExecutor::now() const {
    return Clock::now() - process_start();
}

void ThreadExecutor::call_at(Duration when, std::function<void()> f) {
    const std::scoped_lock lock(state_->mutex);
    state_->timers.push({when, state_->next_order++, std::move(f)});
    if (!state_->timer_thread.joinable()) {
        state_->timer_thread = std::thread([this] { state_->serve_timers(); });
    }
    state_->timers_changed.notify_one();
}

void ThreadExecutor::yield() {
    std::this_thread::yield();
}

void ThreadExecutor::charge(Duration /*time*/) {}

ThreadExecutor& ThreadExecutor::process() {
    // Never destroyed: threads of no executor may wait until the very end of the process.
    static auto* executor = new ThreadExecutor;
    return *executor;
}

std::shared_ptr<TaskState> ThreadExecutor::make_task(std::string name, std::function<void()> body) {
    return std::make_shared<ThreadTask>(*this, std::move(name), std::move(body));
}

void ThreadExecutor::start(std::shared_ptr<TaskState> task) {
    const std::scoped_lock lock(state_->mutex);
    state_->waiting.push_back(std::move(task));
    if (state_->waiting.size() > state_->idle) {
        state_->threads.emplace_back([this] { state_->work(); });
    }
    state_->work_changed.notify_one();
}

}  // namespace rudder
