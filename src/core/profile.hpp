// A profile: what every thread did during a stretch of a run, event by event.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rudder {

/// "Of no step", and "no number".
inline constexpr std::uint64_t no_step = ~std::uint64_t{0};

/// Something a thread did. Plain data: it travels as it is.
struct ProfileEvent {
    enum class Kind : std::uint32_t {
        span,  ///< a Span
        wait,  ///< the thread waited for something
        use,   ///< a step used rows that the span with this id fetched
    };
    std::uint64_t start = 0;  ///< nanoseconds on the steady clock of its process
    std::uint64_t end = 0;
    std::uint64_t step = no_step;  ///< the global step it belongs to
    std::uint64_t id = no_step;    ///< what uses refer to
    std::uint32_t name = 0;        ///< place in the names of its profile
    Kind kind = Kind::span;
};

/// One thread, and the tasks that ran on it.
struct ThreadProfile {
    std::string name;
    std::vector<ProfileEvent> events;  ///< in the order they ended
};

/// What one process recorded.
struct RankProfile {
    std::uint64_t begin = 0;  ///< of the recording, on the clock of the events
    std::uint64_t end = 0;
    std::vector<std::string> names;
    std::vector<ThreadProfile> threads;
    std::uint64_t dropped = 0;  ///< events for which a thread had no room left

    // Known once the profiles of all ranks have come together.
    std::string host;              ///< the machine's name
    std::int64_t clock_ahead = 0;  ///< nanoseconds that its clock is ahead of rank 0's
};

/// What all ranks did during one epoch; by rank.
struct RunProfile {
    std::uint32_t epoch = 0;  ///< counted from 0
    std::vector<RankProfile> ranks;
};

/// Records what the threads of this process do. While it is off it costs a load per span; while it
/// is on, an event is written to memory of its thread, without a lock.
class Profiler {
public:
    static constexpr std::size_t default_capacity = std::size_t{1} << 16;

    [[nodiscard]] static bool on() noexcept {
        return session_.load(std::memory_order_relaxed) != 0;
    }
    /// Starts recording, up to so many events per thread: what comes later is counted as dropped.
    /// One recording at a time.
    static void start(std::size_t events_per_thread = default_capacity);
    /// Ends it; spans that have not ended are not in it.
    [[nodiscard]] static RankProfile stop();

    // For whoever has something to record; nothing happens while it is off. Names of spans are
    // string literals; what is waited for is copied.
    static void span(const char* name, std::uint64_t start, std::uint64_t end, std::uint64_t step,
                     std::uint64_t id);
    static void wait(std::string_view what, std::uint64_t start, std::uint64_t end);
    static void use(std::uint64_t id, std::uint64_t step);

    /// The clock of events.
    [[nodiscard]] static std::uint64_t now() noexcept;

private:
    static std::atomic<std::uint64_t> session_;  ///< 0: off
};

}  // namespace rudder
