#include "worker.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <unistd.h>

#include "rudder/core/error.hpp"

namespace rudder::python {

namespace {

constexpr auto poll_every = std::chrono::milliseconds(50);

/// Threads that have not ended, of workers that were dropped.
struct DroppedWorkers {
    std::mutex mutex;
    std::condition_variable changed;
    int running = 0;
};
DroppedWorkers& dropped_workers() {
    static auto* const all = new DroppedWorkers;  // threads may end after everything else
    return *all;
}

}  // namespace

struct Worker::State {
    std::string what;
    ::pid_t process = ::getpid();
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> queue;
    bool dropped = false;

    void work() {
        std::unique_lock lock(mutex);
        while (true) {
            changed.wait(lock, [this] { return dropped || !queue.empty(); });
            if (queue.empty()) return;
            {
                const std::function<void()> next = std::move(queue.front());
                queue.pop_front();
                lock.unlock();
                next();
            }
            lock.lock();
        }
    }
    void add(std::function<void()> work) {
        const std::scoped_lock lock(mutex);
        queue.push_back(std::move(work));
        changed.notify_all();
    }
};

Worker::Worker(std::string what) : state_(std::make_shared<State>()) {
    state_->what = std::move(what);
    std::thread([state = state_] {
        state->work();
        DroppedWorkers& all = dropped_workers();
        const std::scoped_lock lock(all.mutex);
        --all.running;
        all.changed.notify_all();
    }).detach();
}

Worker::~Worker() {
    if (!here()) {
        // Locks may be held by threads that are not here: what the state holds stays as it is.
        static_cast<void>(new (std::nothrow) std::shared_ptr<State>(std::move(state_)));
        return;
    }
    {
        DroppedWorkers& all = dropped_workers();
        const std::scoped_lock lock(all.mutex);
        ++all.running;
    }
    const std::scoped_lock lock(state_->mutex);
    state_->dropped = true;
    state_->changed.notify_all();
}

bool Worker::here() const noexcept {
    return ::getpid() == state_->process;
}

void Worker::run(std::function<void()> work, Poll poll) {
    if (!here()) {
        throw usage_error(
            state_->what + " is used in a process that was forked after it was made", "fork",
            "make it in the process that uses it: with num_workers=0, or by the start method "
            "'spawn' of multiprocessing");
    }
    struct Outcome {
        std::mutex mutex;
        std::condition_variable changed;
        bool done = false;
        std::exception_ptr failure;
    };
    const auto outcome = std::make_shared<Outcome>();
    state_->add([outcome, work = std::move(work)] {
        std::exception_ptr failure;
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
        const std::scoped_lock lock(outcome->mutex);
        outcome->failure = failure;
        outcome->done = true;
        outcome->changed.notify_all();
    });
    std::unique_lock lock(outcome->mutex);
    while (!outcome->changed.wait_for(lock, poll_every, [&] { return outcome->done; })) {
        lock.unlock();
        poll();
        lock.lock();
    }
    if (outcome->failure != nullptr) std::rethrow_exception(outcome->failure);
}

void Worker::post(std::function<void()> work) {
    if (!here()) return;
    state_->add([work = std::move(work)] {
        try {
            work();
        } catch (...) {  // nobody waits for it
        }
    });
}

void Worker::wait_for_dropped(Poll poll) {
    DroppedWorkers& all = dropped_workers();
    std::unique_lock lock(all.mutex);
    while (!all.changed.wait_for(lock, poll_every, [&] { return all.running == 0; })) {
        lock.unlock();
        poll();
        lock.lock();
    }
}

}  // namespace rudder::python
