#include "seeded_executor.hpp"

#include <algorithm>
#include <queue>
#include <vector>

#include <fmt/format.h>

#include "core/span.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/random.hpp"

#include "fiber.hpp"
#include "task_state.hpp"

namespace rudder {

namespace {

/// How often a task that is being unwound may wait for others to end.
constexpr int stop_rounds = 10000;
/// One in this many locks lets another task go first.
constexpr std::uint64_t interleave_odds = 4;

struct Pause {
    int rank;
    Duration until;
};

}  // namespace

/// A task that is a fiber of the seeded executor.
class FiberTask final : public TaskState, public std::enable_shared_from_this<FiberTask> {
public:
    FiberTask(SeededExecutor& executor, SeededExecutor::State& state, std::string name,
              std::function<void()> body)
        : TaskState(executor, std::move(name), std::move(body)),
          state_(state),
          fiber_([this] { run(); }) {}

    void park(Duration deadline) override;
    void unpark() override;

    SeededExecutor::State& state_;
    Fiber fiber_;
    SpanStack spans_;
    std::uint64_t parks_ = 0;  ///< numbers the parks, so that a late timer wakes none but its own
    bool permit_ = false;
    bool parked_ = false;
};

struct SeededExecutor::State {
    explicit State(std::uint64_t seed)
        : stream({.purpose = Purpose::schedule, .seed = seed}), draws(stream, 0) {}

    RandomStream stream;
    Draws draws;
    Duration now{0};
    std::uint64_t next_order = 0;
    std::vector<std::shared_ptr<FiberTask>> tasks;  ///< all that have not ended
    std::vector<FiberTask*> ready;
    std::vector<FiberTask*> yielded;  ///< let others and the clock go first
    std::priority_queue<TimedCall> calls;
    std::vector<Pause> pauses;
    FiberTask* running = nullptr;
    bool stopping = false;
    std::vector<std::shared_ptr<FiberTask>> failed;  ///< in the order in which they ended

    void call_at(Duration when, std::function<void()> f) {
        calls.push({std::max(when, now), next_order++, std::move(f)});
    }

    [[nodiscard]] const Pause* pause_of(const FiberTask& task) const {
        const auto found = std::ranges::find_if(pauses, [&](const Pause& pause) {
            return pause.until > now && task.rank() == pause.rank;
        });
        return found == pauses.end() ? nullptr : &*found;
    }

    void switch_to(FiberTask& task) {
        running = &task;
        TaskState* outer = TaskState::set_current(&task);
        SpanStack* outer_spans = task.spans_.activate();
        task.fiber_.resume();
        SpanStack::restore(outer_spans);
        TaskState::set_current(outer);
        running = nullptr;
        if (!task.fiber_.done()) return;
        if (task.unseen_failure() != nullptr) failed.push_back(task.shared_from_this());
        std::erase_if(tasks, [&](const auto& held) { return held.get() == &task; });
    }
    /// The first failure that no join has passed on. All are kept, since whoever joins the first
    /// task that failed may fail in its turn.
    [[nodiscard]] std::exception_ptr failure() const {
        for (const auto& task : failed) {
            if (auto unseen = task->unseen_failure(); unseen != nullptr) return unseen;
        }
        return nullptr;
    }

    /// Runs one ready task, chosen by a draw; a paused one goes back to wait for its time.
    void run_one() {
        const std::uint64_t pick = ready.size() == 1 ? 0 : draws.below(ready.size());
        FiberTask* task = ready[pick];
        ready[pick] = ready.back();
        ready.pop_back();
        if (const Pause* pause = pause_of(*task)) {
            if (pause->until == no_deadline) return;  // dead: never runs again
            call_at(pause->until, [this, kept = task->shared_from_this()] {
                if (!kept->fiber_.done()) ready.push_back(kept.get());
            });
            return;
        }
        switch_to(*task);
    }

    void run_call() {
        const TimedCall next = calls.top();
        calls.pop();
        now = std::max(now, next.when);
        const NoWaitScope no_wait("a timer's call");
        next.call();
    }

    /// Whether any task is left that has not been stopped for good.
    [[nodiscard]] bool alive() const {
        return std::ranges::any_of(tasks, [&](const auto& task) {
            const Pause* pause = pause_of(*task);
            return pause == nullptr || pause->until != no_deadline;
        });
    }

    [[nodiscard]] Error deadlock() const {
        std::string list;
        for (const auto& task : tasks) {
            const Pause* pause = pause_of(*task);
            if (!list.empty()) list += "; ";
            if (const auto rank = task->rank()) list += fmt::format("rank {} ", *rank);
            list += fmt::format("{} waits for {}", task->name(),
                                pause != nullptr ? "nothing: it was stopped" : task->waiting_for());
        }
        return {ErrorKind::rank, "deadlock: no task can continue", list,
                "find who should have sent or notified"};
    }
};

void FiberTask::park(Duration deadline) {
    RUDDER_CHECK(state_.running == this);
    if (permit_) {
        permit_ = false;
        return;
    }
    parked_ = true;
    const std::uint64_t number = ++parks_;
    if (deadline != no_deadline) {
        state_.call_at(deadline, [kept = shared_from_this(), number] {
            if (kept->parked_ && kept->parks_ == number) kept->unpark();
        });
    }
    fiber_.suspend();
    permit_ = false;
}

void FiberTask::unpark() {
    if (done()) return;
    if (!parked_) {
        permit_ = true;
        return;
    }
    parked_ = false;
    state_.ready.push_back(this);
}

SeededExecutor::SeededExecutor(std::uint64_t seed) : state_(std::make_unique<State>(seed)) {}

SeededExecutor::~SeededExecutor() {
    stop();
}

void SeededExecutor::stop() {
    State& s = *state_;
    RUDDER_CHECK(s.running == nullptr);
    s.stopping = true;
    for (int round = 0; round < stop_rounds && !s.tasks.empty(); ++round) {
        const auto left = s.tasks;
        for (const auto& task : left)
            task->cancel();
        s.ready.clear();
        s.yielded.clear();
        for (const auto& task : left) {
            if (!task->fiber_.done()) s.switch_to(*task);
        }
    }
    s.ready.clear();
    s.yielded.clear();
    s.stopping = false;
    if (!s.tasks.empty()) throw s.deadlock();
}

void SeededExecutor::run() {
    State& s = *state_;
    while (s.alive()) {
        if (!s.ready.empty()) {
            s.run_one();
        } else if (!s.calls.empty()) {
            s.run_call();
            s.ready.insert(s.ready.end(), s.yielded.begin(), s.yielded.end());
            s.yielded.clear();
        } else if (!s.yielded.empty()) {
            s.ready.swap(s.yielded);
        } else {
            if (s.failure() != nullptr) break;
            throw s.deadlock();
        }
    }
    if (const auto failure = s.failure(); failure != nullptr) std::rethrow_exception(failure);
}

void SeededExecutor::pause(int rank, Duration when) {
    state_->pauses.push_back({rank, when});
}

Duration SeededExecutor::now() const {
    return state_->now;
}

void SeededExecutor::call_at(Duration when, std::function<void()> f) {
    state_->call_at(when, std::move(f));
}

void SeededExecutor::yield() {
    FiberTask* me = state_->running;
    if (me == nullptr) return;
    state_->yielded.push_back(me);
    me->fiber_.suspend();
}

void SeededExecutor::charge(Duration time) {
    if (time > Duration::zero()) sleep_for(time);
}

std::uint64_t SeededExecutor::draw(std::uint64_t bound) {
    return state_->draws.below(bound);
}

std::shared_ptr<TaskState> SeededExecutor::make_task(std::string name, std::function<void()> body) {
    return std::make_shared<FiberTask>(*this, *state_, std::move(name), std::move(body));
}

void SeededExecutor::start(std::shared_ptr<TaskState> task) {
    auto fiber = std::static_pointer_cast<FiberTask>(std::move(task));
    state_->ready.push_back(fiber.get());
    state_->tasks.push_back(std::move(fiber));
}

void SeededExecutor::interleave() {
    State& s = *state_;
    if (s.running == nullptr || s.stopping || NoWaitScope::current() != nullptr) return;
    if (s.ready.empty() || s.draws.below(interleave_odds) != 0) return;
    FiberTask* me = s.running;
    s.ready.push_back(me);
    me->fiber_.suspend();
}

void interleaving_point() {
    if (auto* seeded = dynamic_cast<SeededExecutor*>(&Executor::current())) seeded->interleave();
}

}  // namespace rudder
