#include "span.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

namespace rudder {

namespace {

constexpr std::size_t max_span_depth = 16;

struct StackList {
    std::mutex mutex;
    std::vector<const SpanStack*> stacks;
    std::uint64_t next_thread = 0;
    std::uint64_t transitions = 0;  ///< of stacks that are no more
};

StackList& stack_list() {
    static auto* list = new StackList;  // outlives threads that end during exit
    return *list;
}

/// Where spans of this thread go: a fiber's stack while one runs, else the thread's own.
thread_local SpanStack* active_stack = nullptr;

}  // namespace

/// The spans one thread or fiber is in. It alone writes; others read, so the fields are atomic. A
/// reader may see a phase that has just ended: good enough to say where a thread hangs.
struct SpanStack::Phases {
    std::array<std::atomic<const char*>, max_span_depth> names{};
    std::atomic<std::size_t> depth{0};
    std::atomic<std::uint64_t> since{0};
    std::uint64_t thread = 0;
    std::atomic<std::uint64_t> transitions{0};

    void count() noexcept {
        transitions.store(transitions.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
    }
};

SpanStack::SpanStack() : phases_(std::make_unique<Phases>()) {
    StackList& list = stack_list();
    const std::scoped_lock lock(list.mutex);
    phases_->thread = list.next_thread++;
    list.stacks.push_back(this);
}

SpanStack::~SpanStack() {
    StackList& list = stack_list();
    const std::scoped_lock lock(list.mutex);
    list.transitions += phases_->transitions.load(std::memory_order_relaxed);
    std::erase(list.stacks, this);
}

SpanStack* SpanStack::activate() noexcept {
    return std::exchange(active_stack, this);
}

void SpanStack::restore(SpanStack* before) noexcept {
    active_stack = before;
}

SpanStack::Phases& SpanStack::current() {
    if (active_stack != nullptr) return *active_stack->phases_;
    thread_local SpanStack own;
    return *own.phases_;
}

Span::Span(const char* name, std::uint64_t step)
    : name_(name), start_(Profiler::now()), step_(step) {
    SpanStack::Phases& stack = SpanStack::current();
    const std::size_t depth = stack.depth.load(std::memory_order_relaxed);
    if (depth < max_span_depth) stack.names[depth].store(name, std::memory_order_relaxed);
    stack.since.store(start_, std::memory_order_relaxed);
    stack.count();
    // Release: a reader that sees the new depth sees the name below it.
    stack.depth.store(depth + 1, std::memory_order_release);
}

Span::~Span() {
    SpanStack::Phases& stack = SpanStack::current();
    const std::uint64_t end = Profiler::now();
    stack.depth.store(stack.depth.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    stack.since.store(end, std::memory_order_relaxed);
    stack.count();
    if (Profiler::on()) Profiler::span(name_, start_, end, step_, id_);
}

std::vector<ThreadPhase> current_phases() {
    StackList& list = stack_list();
    const std::scoped_lock lock(list.mutex);
    std::vector<ThreadPhase> result;
    for (const SpanStack* held : list.stacks) {
        const SpanStack::Phases* stack = held->phases_.get();
        const std::size_t depth =
            std::min(stack->depth.load(std::memory_order_acquire), max_span_depth);
        if (depth == 0) continue;
        ThreadPhase phase{stack->thread, {}, 0.0};
        for (std::size_t i = 0; i < depth; ++i) {
            phase.phases.emplace_back(stack->names[i].load(std::memory_order_relaxed));
        }
        const std::uint64_t since = stack->since.load(std::memory_order_relaxed);
        phase.seconds = static_cast<double>(Profiler::now() - since) * 1e-9;
        result.push_back(std::move(phase));
    }
    return result;
}

std::uint64_t span_transitions() {
    StackList& list = stack_list();
    const std::scoped_lock lock(list.mutex);
    std::uint64_t sum = list.transitions;
    for (const SpanStack* held : list.stacks) {
        sum += held->phases_->transitions.load(std::memory_order_relaxed);
    }
    return sum;
}

}  // namespace rudder
