// Scoped spans: what a thread is doing now.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profile.hpp"

namespace rudder {

/// Names the phase a thread is in for as long as it lives. Names are string literals. Costs about
/// 50 ns: one per batch or phase, never per vertex. A Profiler that is on records it, with its
/// step.
class Span {
public:
    explicit Span(const char* name, std::uint64_t step = no_step);
    ~Span();
    Span(Span&&) = delete;

    /// A number that uses of what it fetches refer to, in a profile.
    void set_id(std::uint64_t id) noexcept { id_ = id; }

private:
    const char* name_;
    std::uint64_t start_;
    std::uint64_t step_;
    std::uint64_t id_ = no_step;
};

/// The spans of a fiber, kept apart from those of the thread it runs on.
class SpanStack {
public:
    SpanStack();
    ~SpanStack();

    /// Spans of this thread go here from now on; returns where they went before (may be null).
    SpanStack* activate() noexcept;
    static void restore(SpanStack* before) noexcept;

private:
    friend class Span;
    friend std::vector<struct ThreadPhase> current_phases();
    friend std::uint64_t span_transitions();
    struct Phases;
    static Phases& current();

    std::unique_ptr<Phases> phases_;
};

/// What one thread is in the middle of, outermost first, and for how long the innermost has run.
struct ThreadPhase {
    std::uint64_t thread;
    std::vector<std::string> phases;
    double seconds;
};

/// The phases of all threads that are in a span now; safe to call from any thread (a watchdog).
[[nodiscard]] std::vector<ThreadPhase> current_phases();

/// How often a span has begun or ended in this process: a number that grows while work goes on.
[[nodiscard]] std::uint64_t span_transitions();

/// The phase of a thread that waits for messages of other ranks, and so is not to blame.
inline constexpr const char* waiting_phase = "waiting for messages";

}  // namespace rudder
