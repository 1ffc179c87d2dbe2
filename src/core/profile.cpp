#include "profile.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "core/executor/task_state.hpp"
#include "rudder/core/check.hpp"

namespace rudder {

namespace {

/// Waits shorter than this are not worth an event: a wait may wake often.
constexpr std::uint64_t shortest_wait = 20'000;
/// Tasks that the name of a thread lists.
constexpr std::size_t listed_tasks = 3;

/// An event before it is collected. Without initial values, so that memory that is never used is
/// never touched.
struct Recorded {
    const char* name;
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t step;
    std::uint64_t id;
    ProfileEvent::Kind kind;
};

/// The events of one thread. It alone writes, and what is written stays: whoever collects reads as
/// many as `size` says, at any time.
struct Tape {
    explicit Tape(std::size_t most)
        : events(std::make_unique_for_overwrite<Recorded[]>(most)), capacity(most) {}

    void add(const Recorded& event) {
        const std::size_t at = size.load(std::memory_order_relaxed);
        if (at == capacity) {
            dropped.store(dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            return;
        }
        note_task();
        events[at] = event;
        size.store(at + 1, std::memory_order_release);
    }

    /// The name of the task that runs, once per task.
    void note_task() {
        const TaskState* task = &TaskState::current();
        if (task == last_task) return;
        last_task = task;
        const std::scoped_lock lock(mutex);
        if (std::ranges::find(tasks, task->name()) == tasks.end()) tasks.push_back(task->name());
    }

    /// A text that stays as long as the tape.
    const char* keep(std::string_view text) {
        const std::scoped_lock lock(mutex);
        const auto found = std::ranges::find(texts, text);
        return found != texts.end() ? found->c_str() : texts.emplace_back(text).c_str();
    }

    std::unique_ptr<Recorded[]> events;
    std::size_t capacity;
    std::atomic<std::size_t> size{0};
    std::atomic<std::uint64_t> dropped{0};
    const TaskState* last_task = nullptr;
    std::mutex mutex;  ///< guards what follows
    std::vector<std::string> tasks;
    std::deque<std::string> texts;
};

/// The recording under way, or the last one.
struct Recording {
    std::mutex mutex;
    std::uint64_t last_session = 0;
    std::uint64_t begin = 0;
    std::size_t capacity = 0;
    std::vector<std::shared_ptr<Tape>> tapes;
};

Recording& recording() {
    static auto* all = new Recording;  // outlives threads that end during exit
    return *all;
}

struct OwnTape {
    std::uint64_t session = 0;
    std::shared_ptr<Tape> tape;
};
thread_local OwnTape own;

/// The tape of this thread in that session; null if the session has ended meanwhile.
Tape* tape_of(std::uint64_t session) {
    if (own.session == session) return own.tape.get();
    Recording& all = recording();
    const std::scoped_lock lock(all.mutex);
    if (all.last_session != session) return nullptr;
    own = {session, std::make_shared<Tape>(all.capacity)};
    all.tapes.push_back(own.tape);
    return own.tape.get();
}

std::string name_of(const std::vector<std::string>& tasks) {
    std::string name;
    for (std::size_t i = 0; i < std::min(tasks.size(), listed_tasks); ++i)
        name += (i == 0 ? "" : ", ") + tasks[i];
    return name + (tasks.size() > listed_tasks ? ", ..." : "");
}

/// Numbers names as they are met.
class Names {
public:
    explicit Names(std::vector<std::string>& list) : list_(list) {}
    std::uint32_t number(const char* name) {
        const auto [at, added] = numbers_.emplace(name, static_cast<std::uint32_t>(list_.size()));
        if (added) list_.push_back(at->first);
        return at->second;
    }

private:
    std::vector<std::string>& list_;
    std::map<std::string, std::uint32_t> numbers_;
};

ThreadProfile collect(Tape& tape, Names& names, std::uint64_t begin) {
    ThreadProfile thread;
    const std::size_t count = tape.size.load(std::memory_order_acquire);
    thread.events.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Recorded& event = tape.events[i];
        // What had begun before is shown from the beginning on.
        thread.events.push_back({std::max(event.start, begin), std::max(event.end, begin),
                                 event.step, event.id, names.number(event.name), event.kind});
    }
    const std::scoped_lock lock(tape.mutex);
    thread.name = name_of(tape.tasks);
    return thread;
}

}  // namespace

std::atomic<std::uint64_t> Profiler::session_{0};

std::uint64_t Profiler::now() noexcept {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

void Profiler::start(std::size_t events_per_thread) {
    RUDDER_CHECK(!on() && events_per_thread > 0);
    Recording& all = recording();
    const std::scoped_lock lock(all.mutex);
    all.tapes.clear();
    all.capacity = events_per_thread;
    all.begin = now();
    session_.store(++all.last_session, std::memory_order_relaxed);
}

RankProfile Profiler::stop() {
    RUDDER_CHECK(on());
    session_.store(0, std::memory_order_relaxed);
    Recording& all = recording();
    const std::scoped_lock lock(all.mutex);
    ++all.last_session;  // a thread that has just looked finds the session closed
    RankProfile profile;
    profile.begin = all.begin;
    profile.end = now();
    Names names(profile.names);
    for (const auto& tape : all.tapes) {
        profile.dropped += tape->dropped.load(std::memory_order_relaxed);
        profile.threads.push_back(collect(*tape, names, all.begin));
    }
    all.tapes.clear();
    return profile;
}

void Profiler::span(const char* name, std::uint64_t start, std::uint64_t end, std::uint64_t step,
                    std::uint64_t id) {
    const std::uint64_t session = session_.load(std::memory_order_relaxed);
    if (session == 0) return;
    if (Tape* tape = tape_of(session))
        tape->add({name, start, end, step, id, ProfileEvent::Kind::span});
}

void Profiler::wait(std::string_view what, std::uint64_t start, std::uint64_t end) {
    const std::uint64_t session = session_.load(std::memory_order_relaxed);
    if (session == 0 || end - start < shortest_wait) return;
    if (Tape* tape = tape_of(session))
        tape->add({tape->keep(what), start, end, no_step, no_step, ProfileEvent::Kind::wait});
}

void Profiler::use(std::uint64_t id, std::uint64_t step) {
    const std::uint64_t session = session_.load(std::memory_order_relaxed);
    if (session == 0) return;
    const std::uint64_t at = now();
    if (Tape* tape = tape_of(session))
        tape->add({"use", at, at, step, id, ProfileEvent::Kind::use});
}

}  // namespace rudder
