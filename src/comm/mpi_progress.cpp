#include "mpi_progress.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include <sched.h>

#include "core/executor/task_state.hpp"
#include "core/system.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::comm {

namespace {

using namespace std::chrono_literals;

/// How long a wait gives way (and polls) before it begins to sleep, where cores are to spare.
constexpr auto awake_at_first = 500us;
/// Open MPI gives way inside its own calls, MPICH does not; to do so after each would be too much.
constexpr unsigned polls_per_yield = 4;
/// While MPI itself has work in hand, looking for messages that nobody awaits can wait a little.
constexpr unsigned polls_per_probe = 4;
/// The thread's naps, each twice as long as the one before, as far as bells tell what has come ...
constexpr auto first_nap = 100us;
constexpr auto longest_nap_sending = 1ms;
constexpr auto longest_nap_rung = 10ms;
/// ... and where there are ranks on other machines, whether a task waits or not.
constexpr auto first_nap_apart = 30us;
constexpr auto longest_nap_awaited = 100us;
constexpr auto longest_nap_apart = 500us;
/// For receives that are given up to be out of the way.
constexpr auto patience_abandoned = 2s;
constexpr auto threads_noted_for = 20ms;
/// Longer messages leave MPI's sender when their receiver has taken them, not before.
constexpr std::size_t eager_bytes = 4000;

/// What a finished request has received; one byte too many stands for a message that was cut.
std::size_t received_bytes(const MPI_Status& status, int code) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (bytes < 0) bytes = 0;  // undefined for a send
    const bool cut = code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS;
    return static_cast<std::size_t>(bytes) + (cut ? 1 : 0);
}

bool was_cancelled(const MPI_Status& status) {
    int cancelled = 0;
    MPI_Test_cancelled(&status, &cancelled);
    return cancelled != 0;
}

}  // namespace

MpiProgress::MpiProgress(MachineBoard board, std::function<bool()> probe, ModelledLink* link,
                         Failed failed)
    : board_(std::move(board)),
      probe_(std::move(probe)),
      link_(link),
      failed_call_(std::move(failed)),
      cores_(usable_cores()),
      threads_(thread_count()),
      threads_noted_(machine_now()),
      due_{[this] { return next_due(); }, [this] { poll(Thorough::no); }} {}

MpiProgress::~MpiProgress() {
    stopping_.store(true);
    board_.own_bell().ring();
    if (thread_.joinable()) thread_.join();
}

// ---- requests ----------------------------------------------------------------------------------

void MpiProgress::add(MPI_Request request, Active active) {
    active_count_.fetch_add(1);
    if (active.sends) active_sends_.fetch_add(1);
    requests_.push_back(request);
    active_.push_back(std::move(active));
    // A message that leaves in several pieces needs somebody who looks after it soon.
    if (active_.back().sends && dozing_.load()) board_.own_bell().ring();
}

void MpiProgress::test_active(Calls& calls, std::vector<int>& taken_from) {
    if (requests_.empty()) return;
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int count = 0;
    const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                  indices_.data(), statuses_.data());
    // A message longer than its place is an error of that receive alone, found by its size below.
    if (code != MPI_ERR_IN_STATUS) check_mpi(code, "MPI_Testsome");
    if (count <= 0) return;
    const std::span finished(indices_.data(), static_cast<std::size_t>(count));
    auto status = statuses_.begin();
    for (const int index : finished) {
        Active& active = active_[static_cast<std::size_t>(index)];
        const MPI_Status& how = *status++;
        const std::size_t bytes = received_bytes(how, code);
        if (active.sends) active_sends_.fetch_sub(1);
        if (active.given_up && was_cancelled(how)) {
            calls.push_back(std::move(active.cancelled));
            continue;
        }
        if (!active.sends && bytes > eager_bytes) taken_from.push_back(active.peer);
        calls.push_back([ended = std::move(active.ended), keep = std::move(active.keep), bytes] {
            ended(bytes);
        });
    }
    active_count_.fetch_sub(count);
    std::ranges::sort(finished);
    for (std::size_t i = finished.size(); i-- > 0;) {
        const auto index = static_cast<std::size_t>(finished[i]);
        requests_[index] = requests_.back();
        requests_.pop_back();
        if (index + 1 != active_.size()) active_[index] = std::move(active_.back());
        active_.pop_back();
    }
}

/// Looks once; whether anything had come. Unless it is to be thorough, it gives way to others who
/// look, and does not always look for messages that nobody awaits.
bool MpiProgress::poll(Thorough thorough) {
    Calls calls;
    std::vector<int> taken_from;
    bool any = false;
    std::exception_ptr failure;
    {
        std::unique_lock lock(mutex_, std::defer_lock);
        if (thorough == Thorough::yes) {
            lock.lock();
        } else if (!lock.try_lock()) {
            return false;
        }
        try {
            look_at_mpi(thorough, calls, taken_from, any);
        } catch (...) {
            failure = std::current_exception();
        }
    }
    for (const int peer : taken_from)
        ring(peer);
    // What has come is handed over whatever else fails: nobody would be told of it again.
    for (const auto& call : calls) {
        try {
            call();
        } catch (...) {
            if (failure == nullptr) failure = std::current_exception();
        }
    }
    if (failure != nullptr) {
        fail(failure);
        std::rethrow_exception(failure);
    }
    return any || !calls.empty();
}

/// Under the lock. After a failure nothing new is received.
void MpiProgress::look_at_mpi(Thorough thorough, Calls& calls, std::vector<int>& taken_from,
                              bool& any) {
    test_active(calls, taken_from);
    const bool skip = thorough == Thorough::no &&
                      (!calls.empty() || (!requests_.empty() && ++polls_ % polls_per_probe != 0));
    if (!skip && !room_.failed()) any = probe_();
    if (link_ != nullptr) link_->release(machine_now(), calls);
}

/// MPI looks first and makes progress then: what that brings is found by the next call.
bool MpiProgress::look_twice() {
    return poll(Thorough::yes) || poll(Thorough::yes);
}

// ---- tasks that wait ---------------------------------------------------------------------------

/// The number of threads is set after the ranks have met; to ask for it takes a moment.
void MpiProgress::note_threads(Duration now) {
    if (now - threads_noted_ < threads_noted_for) return;
    threads_.store(thread_count());
    threads_noted_ = now;
}

void MpiProgress::wait(const Operation& operation) {
    if (const char* place = NoWaitScope::current()) throw WaitForbidden(place);
    if (operation.done()) return;
    try {
        wait_for(operation);
    } catch (...) {
        // After a failure the rank ends: whatever is under way into its memory is given up.
        abandon(room_.failed() ? nullptr : &operation);
        throw;
    }
}

void MpiProgress::wait_for(const Operation& operation) {
    if (!TaskState::current().patient() && may_stay_awake()) {
        if (wait_awake(operation)) return;
    } else {
        poll(Thorough::no);
    }
    const bool watches = link_ != nullptr && !TaskState::current().patient() && !cores_are_scarce();
    room_.sleep(operation, watches ? &due_ : nullptr);
}

/// False if nothing has come for so long that it is better to sleep. Meanwhile nobody rings for the
/// thread; whatever came last is looked for before it is left alone again.
bool MpiProgress::wait_awake(const Operation& operation) {
    {
        const std::scoped_lock lock(awake_mutex_);
        if (awake_++ == 0) board_.own_bell().set_attended(true);
    }
    struct Leaving {
        MpiProgress& progress;
        bool settled = false;
        ~Leaving() {
            if (!settled) progress.leave_awake();
        }
    };
    Leaving leaving{*this};
    const bool done = look_until(operation);
    leaving.settled = true;
    leave_awake();
    while (look_twice()) {
    }
    return done;
}

bool MpiProgress::look_until(const Operation& operation) {
    const TaskState& me = TaskState::current();
    Duration idle_since = machine_now();
    unsigned in_vain = 0;
    while (!operation.done()) {
        if (me.cancelled()) throw Cancelled{};
        room_.check_failure();
        if (poll(Thorough::no)) {
            idle_since = machine_now();
            continue;
        }
        if (machine_now() - idle_since > awake_at_first) return false;
        if (++in_vain % polls_per_yield == 0) ::sched_yield();
    }
    return true;
}

void MpiProgress::leave_awake() {
    const std::scoped_lock lock(awake_mutex_);
    if (--awake_ == 0) board_.own_bell().set_attended(false);
}

// ---- failures ----------------------------------------------------------------------------------

/// Takes back what it can; whether receives into callers' memory are left. `operation`: of that
/// one alone, else of all.
bool MpiProgress::cancel_receives(const Operation* operation) {
    const std::scoped_lock lock(mutex_);
    bool left = false;
    for (std::size_t i = 0; i < active_.size(); ++i) {
        const Operation* receives = active_[i].receives.get();
        if (receives == nullptr || (operation != nullptr && operation != receives)) continue;
        if (!std::exchange(active_[i].given_up, true)) MPI_Cancel(&requests_[i]);
        left = true;
    }
    return left;
}

/// Whoever posted the receive is about to free its memory. A message that is under way (MPI_Imrecv)
/// cannot be called back, and ends soon unless its sender is gone.
void MpiProgress::abandon(const Operation* operation) noexcept {
    const Duration end = machine_now() + patience_abandoned;
    try {
        while (cancel_receives(operation) && machine_now() < end) {
            if (!poll(Thorough::yes)) ::sched_yield();
        }
    } catch (...) {
        fail(std::current_exception());
    }
}

// ---- the thread --------------------------------------------------------------------------------

Duration MpiProgress::longest_nap() const {
    if (!board_.whole()) return room_.anybody() ? longest_nap_awaited : longest_nap_apart;
    return active_sends_.load() > 0 ? longest_nap_sending : longest_nap_rung;
}

/// Messages that could not leave at once do so while their sender looks after them: nobody has rung
/// for those.
void MpiProgress::ring_receivers() {
    std::vector<int> peers;
    {
        const std::scoped_lock lock(mutex_);
        for (const Active& active : active_) {
            if (active.sends) peers.push_back(active.peer);
        }
    }
    std::ranges::sort(peers);
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    for (const int peer : peers)
        ring(peer);
}

void MpiProgress::look_after() {
    try {
        look_until_stopped();
    } catch (...) {
        fail(std::current_exception());
    }
    if (room_.failed() && !room_.failed_by_signal() && failed_call_) failed_call_(room_.failure());
}

void MpiProgress::look_until_stopped() {
    Doorbell& bell = board_.own_bell();
    const Duration shortest = board_.whole() ? first_nap : first_nap_apart;
    Duration nap = shortest;
    while (!stopping_.load() && !room_.failed()) {
        const std::uint32_t rings = bell.rings();
        if (look_twice()) {
            nap = shortest;
            continue;
        }
        const Duration due = next_due();
        const Duration now = machine_now();
        note_threads(now);
        dozing_.store(true);
        const bool under_way = active_count_.load() > 0 || !board_.whole();
        if (under_way) dozing_.store(false);
        const Duration longest = longest_nap();
        nap = under_way ? std::min(nap, longest) : longest;
        const bool rung = bell.sleep(rings, std::min(now + nap, due));
        dozing_.store(false);
        if (rung) {
            nap = shortest;
        } else {
            nap = under_way ? nap * 2 : shortest;
            if (active_sends_.load() > 0 && machine_now() < due) ring_receivers();
        }
    }
}

}  // namespace rudder::comm
