#include "task_state.hpp"

#include <new>
#include <utility>

#include "rudder/core/check.hpp"

#include "patience.hpp"
#include "thread_executor.hpp"

namespace rudder {

namespace {

thread_local TaskState* current_task = nullptr;
thread_local const char* no_wait_place = nullptr;

}  // namespace

TaskState::TaskState(Executor& executor, std::string name, std::function<void()> body)
    : executor_(executor), name_(std::move(name)), body_(std::move(body)) {}

TaskState& TaskState::current() {
    if (current_task != nullptr) return *current_task;
    // A thread no executor started: it may wait all the same, as a task of the process's threads.
    thread_local ThreadTask foreign(ThreadExecutor::process(), "main", {});
    return foreign;
}

TaskState* TaskState::running() noexcept {
    return current_task;
}

TaskState* TaskState::set_current(TaskState* task) noexcept {
    return std::exchange(current_task, task);
}

void TaskState::run() {
    try {
        if (!cancelled()) body_();
    } catch (const Cancelled&) {  // NOLINT(bugprone-empty-catch): ending is what was asked for
    } catch (...) {
        failure_ = std::current_exception();
    }
    body_ = nullptr;
    const std::scoped_lock lock(mutex_);
    done_.store(true, std::memory_order_release);
    for (TaskState* joiner = first_joiner_; joiner != nullptr; joiner = joiner->next_joiner_)
        joiner->unpark();
}

void TaskState::cancel() {
    cancelled_.store(true, std::memory_order_release);
    unpark();
}

/// Throws Cancelled where the caller has been cancelled, unless it must wait all the same.
void TaskState::wait_for_end(bool must) {
    TaskState& me = current();
    try {
        me.set_waiting_for("the end of task " + name_);
    } catch (const std::bad_alloc&) {
        if (!must) throw;
    }
    for (;;) {
        {
            const std::scoped_lock lock(mutex_);
            if (done_.load(std::memory_order_relaxed)) break;
            me.next_joiner_ = std::exchange(first_joiner_, &me);
        }
        me.park(no_deadline);
        const std::scoped_lock lock(mutex_);
        TaskState** mine = &first_joiner_;
        while (*mine != &me)
            mine = &(*mine)->next_joiner_;
        *mine = me.next_joiner_;
        if (!must && !done_.load(std::memory_order_relaxed) && me.cancelled()) throw Cancelled{};
    }
    me.set_waiting_for("");
}

void TaskState::join() {
    if (const char* place = NoWaitScope::current()) throw WaitForbidden(place);
    wait_for_end(false);
    if (failure_ != nullptr) {
        failure_seen_ = true;
        std::rethrow_exception(failure_);
    }
}

void TaskState::settle() noexcept {
    // Outside its tasks a simulation stands still, and so would whoever waits for one of them.
    RUDDER_CHECK(done() || !executor_.simulated() || &current().executor() == &executor_);
    wait_for_end(true);
    failure_seen_ = true;
}

std::exception_ptr TaskState::unseen_failure() const noexcept {
    return failure_seen_ ? nullptr : failure_;
}

void TaskState::set_waiting_for(std::string_view what) {
    const std::scoped_lock lock(mutex_);
    waiting_for_ = what;
}

std::string TaskState::waiting_for() const {
    const std::scoped_lock lock(mutex_);
    return waiting_for_;
}

// ---- Task and Executor -------------------------------------------------------------------------

void Task::join() {
    RUDDER_CHECK(state_ != nullptr);
    state_->join();
}

void Task::finish() {
    struct LettingGo {
        Task& task;
        ~LettingGo() {
            if (task.done()) task = Task();
        }
    } const letting_go{*this};
    join();
}

void Task::cancel() {
    if (state_ != nullptr) state_->cancel();
}

void Task::settle() noexcept {
    if (state_ != nullptr) state_->settle();
}

void Task::end() noexcept {
    cancel();
    settle();
}

bool Task::done() const {
    return state_ == nullptr || state_->done();
}

const std::string& Task::name() const {
    return state_->name();
}

Task Executor::spawn(std::string name, std::function<void()> body, std::optional<int> rank) {
    auto state = make_task(std::move(name), std::move(body));
    state->set_rank(rank ? rank : TaskState::current().rank());
    start(state);
    return Task(std::move(state));
}

void Executor::sleep_until(Duration when) {
    TaskState& me = TaskState::current();
    if (const char* place = NoWaitScope::current()) throw WaitForbidden(place);
    while (now() < when) {
        if (me.cancelled()) throw Cancelled{};
        me.set_waiting_for("a time");
        me.park(when);
    }
    me.set_waiting_for("");
}

Executor& Executor::current() {
    return TaskState::current().executor();
}

// ---- NoWaitScope -------------------------------------------------------------------------------

NoWaitScope::NoWaitScope(const char* place) noexcept : outer_(no_wait_place) {
    no_wait_place = place;
}

NoWaitScope::~NoWaitScope() {
    no_wait_place = outer_;
}

const char* NoWaitScope::current() noexcept {
    return no_wait_place;
}

WaitForbidden::WaitForbidden(const char* place)
    : InternalError(std::string("no wait inside ") + place, "executor", 0) {}

void wait_patiently() {
    TaskState::current().set_patient();
}

}  // namespace rudder
