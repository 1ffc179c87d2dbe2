// What happens next in a simulation: events in the order of their times, and of equal ones as they
// were given.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "core/executor/executor.hpp"

namespace rudder::train {

class EventQueue {
public:
    enum class Kind : std::uint8_t {
        begin,      ///< a group may begin a step
        begun,      ///< its policy has taken the step
        ask,        ///< a question leaves
        leave,      ///< a message should have left
        end,        ///< a message should have come
        served,     ///< an answer is ready
        assembled,  ///< a rank's step has its rows
        half,       ///< of a rank's computing: gradients begin to leave
        computed,
        summed,  ///< a host has its pieces of the sums
        done,    ///< a host has all sums
    };
    struct Event {
        Duration::rep when = 0;
        std::uint64_t order = 0;
        Kind kind = Kind::begin;
        std::uint32_t who = 0;   ///< group, rank, host or message
        std::uint64_t what = 0;  ///< step, or part of it
    };

    void push(Duration when, Kind kind, std::size_t who, std::uint64_t what = 0) {
        events_.push(
            {std::max(when, now_).count(), order_++, kind, static_cast<std::uint32_t>(who), what});
    }
    [[nodiscard]] bool empty() const noexcept { return events_.empty(); }
    /// The next one; it is then its time.
    Event pop() {
        const Event next = events_.top();
        events_.pop();
        now_ = Duration(next.when);
        return next;
    }
    [[nodiscard]] Duration now() const noexcept { return now_; }

private:
    struct Later {
        bool operator()(const Event& a, const Event& b) const noexcept {
            return a.when != b.when ? a.when > b.when : a.order > b.order;
        }
    };
    std::priority_queue<Event, std::vector<Event>, Later> events_;
    std::uint64_t order_ = 0;
    Duration now_{0};
};

}  // namespace rudder::train
