// The modelled link of the MPI transport: messages carry the time at which they leave it, and are
// handed over no earlier than they would arrive. Their bytes come when MPI brings them, straight to
// their place.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "rudder/comm/inbox.hpp"

#include "link_clock.hpp"
#include "link_model.hpp"
#include "watch_board.hpp"

namespace rudder::comm {

/// Common to all processes of a machine, which is where modelled links are used.
[[nodiscard]] inline Duration machine_now() {
    return Duration(monotonic_ns());
}

/// What is to be called once the transport's lock is released.
using Calls = std::vector<std::function<void()>>;

/// Both ends of a rank's link to other hosts. Calls are made under the transport's lock, except
/// `next_due`.
class ModelledLink {
public:
    /// `clock_of` gives the clock of the link over which a rank sends; ranks of a host share one.
    ModelledLink(const LinkModel& model, Inbox& inbox, std::function<LinkClock&(int)> clock_of)
        : model_(model), inbox_(inbox), clock_of_(std::move(clock_of)) {}

    /// Of messages that are sent from now on.
    void set_model(const LinkModel& model) { model_ = model; }
    /// The stamp of a message that rank `from` (of this host) hands in `now`.
    [[nodiscard]] LinkStamp stamp(int from, Kind kind, std::size_t bytes, Duration now) const;

    /// A message is coming; its bytes are to be written to the ticket's place. Messages of one
    /// source and tag are handed over in the order of these calls.
    [[nodiscard]] Inbox::Ticket expect(int source, Tag tag, Kind kind, std::size_t bytes,
                                       const LinkStamp& stamp);
    /// Its bytes are in their place.
    void landed(const Inbox::Ticket& ticket);
    /// Hands over all whose bytes are here and whose time has come `now`, by the calls.
    void release(Duration now, Calls& calls);
    /// When the first of those that are here may be handed over.
    [[nodiscard]] Duration next_due() const noexcept {
        return Duration(next_due_.load(std::memory_order_relaxed));
    }

private:
    struct Held {
        Inbox::Ticket ticket;
        LinkStamp stamp;
        LinkClass which;
        bool leaving;  ///< others may still pass it: to be looked at when it should have left
        bool announced;
        bool landed = false;
    };
    /// Messages of one source and tag that have not been handed over.
    using Line = std::deque<Held>;
    /// A line whose first message is here.
    struct Due {
        Duration::rep when;
        std::uint64_t order;
        Line* line;
        friend bool operator<(const Due& a, const Due& b) {
            return a.when != b.when ? a.when > b.when : a.order > b.order;  // earliest on top
        }
    };

    void enqueue(Line& line);
    void note_next();

    LinkModel model_;
    Inbox& inbox_;
    std::function<LinkClock&(int)> clock_of_;
    std::map<std::pair<int, Tag>, Line> lines_;
    std::priority_queue<Due> due_;
    std::uint64_t next_order_ = 0;
    std::atomic<Duration::rep> next_due_{Duration::max().count()};
};

}  // namespace rudder::comm
