// Requests of MPI under way, and who looks after them: a thread of its own, which sleeps until
// something may have come, and tasks that wait while there are cores to spare.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <mpi.h>

#include "rudder/comm/request.hpp"

#include "machine_board.hpp"
#include "modelled_link.hpp"
#include "waiting_room.hpp"

namespace rudder::comm {

/// Throws an Error of kind `rank` naming `call` unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// All calls of MPI are made under one lock (`mutex`); completions are called after it is released,
/// since they may send again.
///
/// MPI has to be asked whether something has come. Ranks of this machine ring each other's bells
/// after they have sent, or taken, a message: the thread asks then. What no bell tells of (messages
/// of other machines, long ones in several pieces) is asked for after naps that grow longer.
class MpiProgress {
public:
    /// What to do at the end of a request.
    struct Active {
        /// Called with the bytes received (0 for a send).
        std::function<void(std::size_t)> ended;
        std::shared_ptr<const void> keep;  ///< memory the request uses
        int peer;
        bool sends;
        /// Of a receive straight into a caller's memory.
        std::shared_ptr<Operation> receives{};
        std::function<void()> cancelled{};  ///< called instead of `ended` if it was taken back
        bool given_up = false;              ///< by who waited for it
    };
    using Failed = std::function<void(const std::exception_ptr&)>;

    /// `probe` begins to receive messages that nobody awaits (under the lock) and says whether
    /// there were any. The link may be null. `failed` is called on the thread when something fails
    /// that no single operation can be told of.
    MpiProgress(MachineBoard board, std::function<bool()> probe, ModelledLink* link, Failed failed);
    ~MpiProgress();
    MpiProgress(MpiProgress&&) = delete;

    /// Starts the thread.
    void start() {
        thread_ = std::thread([this] { look_after(); });
    }
    [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
    /// Looks after a request that has been started; under the lock.
    void add(MPI_Request request, Active active);
    /// A message has been sent to that rank, or one of its own taken. Not under the lock.
    void ring(int rank) noexcept {
        if (Doorbell* bell = board_.bell(rank)) bell->ring();
    }
    /// Waits until the operation is done. If it is left by an exception, nothing is written to the
    /// operation's memory any more.
    void wait(const Operation& operation);
    /// All waits end with it from now on; the first one counts.
    void fail(const std::exception_ptr& failure) noexcept { room_.fail(failure); }
    /// Nothing is written to the operation's memory any more.
    void withdraw(const Operation& operation) noexcept { abandon(&operation); }
    /// Called when an operation ends: wakes who waits.
    void completed() { room_.completed(); }

private:
    enum class Thorough : std::uint8_t { no, yes };

    [[nodiscard]] Duration next_due() const noexcept {
        return link_ == nullptr ? Duration::max() : link_->next_due();
    }
    [[nodiscard]] bool may_stay_awake() const { return link_ == nullptr && !cores_are_scarce(); }
    /// Whether ranks of this machine share cores.
    [[nodiscard]] bool cores_are_scarce() const {
        return board_.ranks() * threads_.load() > cores_;
    }
    void abandon(const Operation* operation) noexcept;
    [[nodiscard]] bool cancel_receives(const Operation* operation);
    void wait_for(const Operation& operation);
    void note_threads(Duration now);
    bool wait_awake(const Operation& operation);
    bool look_until(const Operation& operation);
    void leave_awake();
    bool look_twice();
    bool poll(Thorough thorough);
    void look_at_mpi(Thorough thorough, Calls& calls, std::vector<int>& taken_from, bool& any);
    void test_active(Calls& calls, std::vector<int>& taken_from);
    void look_after();
    void look_until_stopped();
    [[nodiscard]] Duration longest_nap() const;
    void ring_receivers();

    MachineBoard board_;
    std::function<bool()> probe_;
    ModelledLink* link_;
    Failed failed_call_;
    int cores_;
    std::atomic<int> threads_;  ///< of a loop, as last looked at
    Duration threads_noted_;

    std::mutex mutex_;
    std::vector<MPI_Request> requests_;
    std::vector<Active> active_;
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
    unsigned polls_ = 0;
    std::atomic<int> active_count_{0};
    std::atomic<int> active_sends_{0};

    std::mutex awake_mutex_;
    int awake_ = 0;  ///< tasks that wait awake; under its lock
    WaitingRoom room_;
    WaitingRoom::Link due_;

    std::atomic<bool> dozing_{false};  ///< the thread sleeps for long: nothing is under way
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace rudder::comm
