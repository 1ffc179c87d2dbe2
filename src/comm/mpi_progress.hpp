// Requests of MPI under way, and who looks after them: the tasks that wait, and a thread of its own
// while none does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <mpi.h>

#include "rudder/comm/request.hpp"

#include "modelled_link.hpp"

namespace rudder::comm {

/// Throws an Error of kind `rank` naming `call` unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// All calls of MPI are made under one lock (`mutex`); completions are called after it is released,
/// since they may send again.
class MpiProgress {
public:
    /// What to do at the end of a request.
    struct Active {
        /// Called with the bytes received (0 for a send).
        std::function<void(std::size_t)> ended;
        std::shared_ptr<const void> keep;  ///< memory the request uses
    };

    /// `probe` begins to receive messages that nobody awaits (under the lock) and says whether
    /// there were any. The link may be null.
    MpiProgress(std::function<bool()> probe, ModelledLink* link)
        : probe_(std::move(probe)), link_(link) {}
    ~MpiProgress() {
        stopping_.store(true);
        if (background_.joinable()) background_.join();
    }

    /// Starts the thread that looks in while nobody waits.
    void start() {
        background_ = std::thread([this] { look_in(); });
    }
    [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
    /// Looks after a request that has been started; under the lock.
    void add(MPI_Request request, Active active) {
        requests_.push_back(request);
        active_.push_back(std::move(active));
    }
    /// Waits until the operation is done.
    void wait(const Operation& operation);
    /// Called when an operation ends: wakes who waits.
    void completed();

private:
    /// A task that waits while another looks in for it.
    struct Sleeper {
        const Operation* operation;
        std::condition_variable wake{};
        bool called = false;
    };
    /// Whoever looked in for others calls one of them when it goes.
    struct Leaving {
        MpiProgress& progress;
        ~Leaving() { progress.call_next(); }
    };

    [[nodiscard]] Duration next_due() const noexcept {
        return link_ == nullptr ? Duration::max() : link_->next_due();
    }
    void rest(const Operation& operation, Duration nap);
    void call_next();
    bool poll();
    void look_in();
    void test_active(Calls& calls);

    std::function<bool()> probe_;
    ModelledLink* link_;

    std::mutex mutex_;
    std::vector<MPI_Request> requests_;
    std::vector<Active> active_;
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
    unsigned polls_ = 0;

    std::mutex sleep_mutex_;  ///< guards what follows
    std::vector<Sleeper*> sleepers_;
    bool napping_ = false;  ///< a task sleeps for a moment only, and then looks in
    std::atomic<int> asleep_{0};

    std::atomic<Duration::rep> last_poll_{0};
    std::atomic<bool> stopping_{false};
    std::thread background_;
};

}  // namespace rudder::comm
