#include "mailbox.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "core/executor/seeded_executor.hpp"
#include "rudder/core/check.hpp"

namespace rudder::steer {

namespace {

/// A reply on its way, with when it came.
struct Envelope {
    Reply reply;
    Duration arrived{};
};

/// When an agent that waits for a question looks again. Waking it costs training several
/// microseconds, so that nobody does: it first sleeps half of the time between its last two
/// questions, and then a quarter of what it has waited.
class Rhythm {
public:
    /// How long to sleep after `waited`.
    [[nodiscard]] Duration rest(Duration waited) const {
        return std::clamp(waited < shortest ? gap_ / 2 : waited / 4, shortest, longest);
    }
    void came(Duration now) {
        gap_ = now - last_;
        last_ = now;
    }

private:
    static constexpr Duration shortest = std::chrono::microseconds(50);
    static constexpr Duration longest = std::chrono::milliseconds(10);

    Duration last_{};
    Duration gap_{};
};

/// Adds the time it lives to a count.
class Spent {
public:
    explicit Spent(std::atomic<double>& seconds) : seconds_(seconds) {}
    ~Spent() {
        seconds_.fetch_add(to_seconds(Executor::current().now() - start_),
                           std::memory_order_relaxed);
    }
    Spent(Spent&&) = delete;

private:
    std::atomic<double>& seconds_;
    Duration start_ = Executor::current().now();
};

/// MailCounts that may be read while they are counted.
struct RunningCounts {
    std::atomic<std::uint64_t> posted{0};
    std::atomic<std::uint64_t> answered{0};
    std::atomic<std::uint64_t> late{0};
    std::atomic<std::uint64_t> stale{0};
    std::atomic<double> waited{0};
    std::atomic<double> spent{0};
};

}  // namespace

struct Mailbox::State {
    // Questions: handed over under a lock that is held for a pointer's exchange.
    Monitor questions;
    std::shared_ptr<const Observation> question;
    bool closed = false;
    Rhythm rhythm;

    // Answers: whoever exchanges the pointer owns what it gets. The monitor is for those who wait.
    std::atomic<Envelope*> slot{nullptr};
    Monitor answers;
    std::atomic<std::uint64_t> dropped{0};  ///< by the agent's side

    // The training side's own.
    std::uint64_t sequence = 0;  ///< of the last question
    Duration asked{};
    Duration deadline{};
    bool open = false;
    bool replied = false;  ///< the last question has had its first reply
    RunningCounts counts;

    ~State() { delete slot.load(std::memory_order_acquire); }

    [[nodiscard]] std::unique_ptr<Envelope> take_answer() {
        if (slot.load(std::memory_order_relaxed) == nullptr) return nullptr;
        return std::unique_ptr<Envelope>(slot.exchange(nullptr, std::memory_order_acq_rel));
    }

    void give_up() {
        if (!open) return;
        open = false;
        ++counts.late;
    }

    [[nodiscard]] bool still_open() {
        // What lies in the slot may have come in time: it is for whoever takes it to say.
        if (open && Executor::current().now() > deadline &&
            slot.load(std::memory_order_relaxed) == nullptr) {
            give_up();
        }
        return open;
    }

    /// What an envelope is worth: the reply to the open question, or nothing.
    [[nodiscard]] std::optional<Reply> judge(std::unique_ptr<Envelope> envelope) {
        if (envelope->reply.sequence != sequence || std::exchange(replied, true)) {
            ++counts.stale;
            return std::nullopt;
        }
        if (!open) return std::nullopt;  // counted when its deadline passed
        if (envelope->arrived > deadline) {
            give_up();
            return std::nullopt;
        }
        open = false;
        ++counts.answered;
        envelope->reply.seconds = to_seconds(envelope->arrived - asked);
        return std::move(envelope->reply);
    }
};

Mailbox::Mailbox() : state_(std::make_unique<State>()) {}

Mailbox::~Mailbox() = default;

void Mailbox::ask(std::shared_ptr<const Observation> question, Duration deadline) {
    State& s = *state_;
    const Spent spent(s.counts.spent);
    RUDDER_CHECK(question != nullptr && question->sequence > s.sequence);
    s.give_up();
    s.sequence = question->sequence;
    s.asked = Executor::current().now();
    s.deadline = deadline;
    s.open = true;
    s.replied = false;
    ++s.counts.posted;
    {
        const Monitor::Lock lock(s.questions);
        s.question.swap(question);
    }
    // A simulation has nothing to save, and finds deadlocks only among tasks that wait for good.
    if (Executor::current().simulated()) s.questions.notify_all();
}

bool Mailbox::open() {
    const Spent spent(state_->counts.spent);
    return state_->still_open();
}

std::optional<Reply> Mailbox::poll() {
    State& s = *state_;
    const Spent spent(s.counts.spent);
    if (auto envelope = s.take_answer()) {
        if (auto reply = s.judge(std::move(envelope))) return reply;
    }
    static_cast<void>(s.still_open());
    return std::nullopt;
}

std::optional<Reply> Mailbox::wait() {
    State& s = *state_;
    const Spent waited(s.counts.waited);
    if (s.open) s.questions.notify_all();
    while (s.still_open()) {
        {
            Monitor::Lock lock(s.answers);
            static_cast<void>(s.answers.wait_until(lock, "an agent's answer", s.deadline, [&s] {
                return s.slot.load(std::memory_order_relaxed) != nullptr;
            }));
        }
        if (auto envelope = s.take_answer()) {
            if (auto reply = s.judge(std::move(envelope))) return reply;
        } else if (Executor::current().now() >= s.deadline) {
            s.give_up();
        }
    }
    return std::nullopt;
}

void Mailbox::close() {
    State& s = *state_;
    s.give_up();
    {
        const Monitor::Lock lock(s.questions);
        s.closed = true;
    }
    s.questions.notify_all();
}

MailCounts Mailbox::counts() const {
    const RunningCounts& c = state_->counts;
    return {.posted = c.posted,
            .answered = c.answered,
            .late = c.late,
            .stale = c.stale + state_->dropped,
            .waited = c.waited,
            .spent = c.spent};
}

std::shared_ptr<const Observation> Mailbox::take() {
    State& s = *state_;
    Executor& executor = Executor::current();
    const auto ready = [&s] { return s.closed || s.question != nullptr; };
    Monitor::Lock lock(s.questions);
    const Duration start = executor.now();
    while (!ready()) {
        const Duration now = executor.now();
        const Duration until =
            executor.simulated() ? no_deadline : now + s.rhythm.rest(now - start);
        static_cast<void>(s.questions.wait_until(lock, "a question to an agent", until, ready));
    }
    if (s.closed) return nullptr;
    s.rhythm.came(executor.now());
    return std::exchange(s.question, nullptr);
}

void Mailbox::reply(Reply reply) {
    State& s = *state_;
    auto mine = std::make_unique<Envelope>();
    mine->reply = std::move(reply);
    mine->arrived = Executor::current().now();
    for (;;) {
        // Of two replies the one to the later question stays, or the one that came first. To look
        // at one it must be taken out, since training may take it at any moment.
        interleaving_point();
        if (std::unique_ptr<Envelope> other{s.slot.exchange(nullptr, std::memory_order_acq_rel)}) {
            if (other->reply.sequence >= mine->reply.sequence) mine.swap(other);
            s.dropped.fetch_add(1, std::memory_order_relaxed);
        }
        interleaving_point();
        Envelope* none = nullptr;
        if (s.slot.compare_exchange_strong(none, mine.get(), std::memory_order_acq_rel)) {
            static_cast<void>(mine.release());
            break;
        }
    }
    // The lock makes sure that whoever found the slot empty is already waiting.
    { const Monitor::Lock lock(s.answers); }
    s.answers.notify_all();
}

}  // namespace rudder::steer
