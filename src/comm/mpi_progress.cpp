#include "mpi_progress.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

#include <sched.h>
#include <sys/prctl.h>

#include "core/executor/task_state.hpp"
#include "core/interrupt.hpp"
#include "core/span.hpp"

namespace rudder::comm {

namespace {

using namespace std::chrono_literals;

/// How long a wait gives way (and polls) before it begins to sleep.
constexpr auto awake_at_first = 500us;
/// Open MPI gives way inside its own calls, MPICH does not; to do so after each would be too much.
constexpr unsigned polls_per_yield = 4;
constexpr auto short_sleep = 30us;
/// Of who has waited for long, so that nothing is expected soon.
constexpr auto long_sleep = 100us;
constexpr auto long_idle = 1ms;
/// Tasks that sleep while another looks in for them look up now and then, for cancels and signals.
constexpr auto look_up = 2ms;
/// Held messages due sooner than a sleep takes are waited for awake; at the very end without giving
/// way, since the scheduler may take a time slice for itself.
constexpr auto awake_before_due = 120us;
constexpr auto alert_before_due = 20us;
/// A thread that has polled within this long is taken to be waiting: no need to look in.
constexpr auto recent = 200us;
constexpr auto longest_pause = 500us;
/// While MPI itself has work in hand, looking for messages that nobody awaits can wait a little.
constexpr unsigned polls_per_probe = 4;
constexpr auto patience_after_signal = 500ms;

/// Lets this thread's sleeps end when they should, not up to 50 us later.
void sleep_exactly() {
    thread_local const int done = ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    static_cast<void>(done);
}

/// What a finished request has received; one byte too many stands for a message that was cut.
std::size_t received_bytes(const MPI_Status& status, int code) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (bytes < 0) bytes = 0;  // undefined for a send
    const bool cut = code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS;
    return static_cast<std::size_t>(bytes) + (cut ? 1 : 0);
}

/// After a signal the ranks agree on where to stop, so a wait goes on; but not for ever, since the
/// others may be gone.
void leave_if_interrupted(std::optional<Duration>& since) {
    if (!interrupted()) return;
    if (!since) since = machine_now();
    if (machine_now() - *since > patience_after_signal) throw_if_interrupted_at_once();
}

}  // namespace

void MpiProgress::test_active(Calls& calls) {
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
        calls.push_back([ended = std::move(active.ended), keep = std::move(active.keep),
                         bytes = received_bytes(*status++, code)] { ended(bytes); });
    }
    std::ranges::sort(finished);
    for (std::size_t i = finished.size(); i-- > 0;) {
        const auto index = static_cast<std::size_t>(finished[i]);
        requests_[index] = requests_.back();
        requests_.pop_back();
        if (index + 1 != active_.size()) active_[index] = std::move(active_.back());
        active_.pop_back();
    }
}

bool MpiProgress::poll() {
    Calls calls;
    bool any = false;
    {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return false;
        last_poll_.store(machine_now().count(), std::memory_order_relaxed);
        test_active(calls);
        if (calls.empty() && (requests_.empty() || ++polls_ % polls_per_probe == 0)) any = probe_();
        if (link_ != nullptr) link_->release(calls);
    }
    for (const auto& call : calls)
        call();
    return any || !calls.empty();
}

void MpiProgress::wait(const Operation& operation) {
    if (const char* place = NoWaitScope::current()) throw WaitForbidden(place);
    TaskState& me = TaskState::current();
    std::optional<Span> waiting;  // told to the watchdog once the wait is not a short one
    std::optional<Duration> signalled;
    const Leaving leaving{*this};
    Duration idle_since = machine_now();
    unsigned in_vain = 0;
    while (!operation.done()) {
        if (poll()) {
            idle_since = machine_now();
            continue;
        }
        if (me.cancelled()) throw Cancelled{};
        const Duration now = machine_now();
        const Duration idle = now - idle_since;
        const Duration until_due = next_due() - now;
        if (!me.patient()) {
            if (until_due < alert_before_due) continue;
            if (idle < awake_at_first || until_due < awake_before_due) {
                if (++in_vain % polls_per_yield == 0) ::sched_yield();
                continue;
            }
        }
        if (!waiting) waiting.emplace(waiting_phase);
        leave_if_interrupted(signalled);
        rest(operation, std::min<Duration>(idle < long_idle ? short_sleep : long_sleep, until_due));
    }
}

/// Sleeps: for `nap` if nobody else does who then looks in for all, else until it is called.
void MpiProgress::rest(const Operation& operation, Duration nap) {
    {
        std::unique_lock lock(sleep_mutex_);
        if (napping_) {
            Sleeper me{&operation};
            asleep_.fetch_add(1);
            sleepers_.push_back(&me);
            if (!operation.done()) me.wake.wait_for(lock, look_up, [&] { return me.called; });
            std::erase(sleepers_, &me);
            asleep_.fetch_sub(1);
            return;
        }
        napping_ = true;
    }
    sleep_exactly();
    if (nap > Duration::zero()) std::this_thread::sleep_for(nap);
    const std::scoped_lock lock(sleep_mutex_);
    napping_ = false;
}

void MpiProgress::completed() {
    if (asleep_.load() == 0) return;
    const std::scoped_lock lock(sleep_mutex_);
    for (Sleeper* sleeper : sleepers_) {
        if (!sleeper->operation->done()) continue;
        sleeper->called = true;
        sleeper->wake.notify_one();
    }
}

/// Nobody may be left who looks in: calls one of those that sleep.
void MpiProgress::call_next() {
    if (asleep_.load() == 0) return;
    const std::scoped_lock lock(sleep_mutex_);
    if (napping_ || sleepers_.empty()) return;
    sleepers_.front()->called = true;
    sleepers_.front()->wake.notify_one();
}

/// Progress while nobody waits: messages of other ranks are answered all the same.
void MpiProgress::look_in() {
    sleep_exactly();
    auto pause = short_sleep;
    while (!stopping_.load(std::memory_order_relaxed)) {
        const Duration since = machine_now() - Duration(last_poll_.load(std::memory_order_relaxed));
        if (since < recent) {
            std::this_thread::sleep_for(longest_pause);
            continue;
        }
        pause = poll() ? short_sleep : std::min<decltype(pause)>(pause * 2, longest_pause);
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace rudder::comm
