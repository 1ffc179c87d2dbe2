// The modelled link of the MPI transport: messages carry, in front, the time at which they may be
// handed over, and are held back until then.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <vector>

#include "rudder/comm/inbox.hpp"

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
/// `copy` and `next_due`.
class ModelledLink {
public:
    using Bytes = std::shared_ptr<std::vector<std::byte>>;

    ModelledLink(const LinkModel& model, Inbox& inbox) : model_(model), inbox_(inbox) {}

    /// When the host's link is free, in memory that its ranks share (8 bytes, 0 at first).
    void set_shared(std::shared_ptr<std::span<std::byte>> free) { free_ = std::move(free); }

    /// A copy of a message with room for its stamp in front.
    [[nodiscard]] static Bytes copy(std::span<const std::byte> bytes);
    /// Stamps it with its arrival if it is handed in `now`: the host's link sends one message after
    /// the other.
    void stamp(std::vector<std::byte>& stamped, Duration now) const;
    /// Keeps a message that has arrived ahead of its time.
    void hold(int source, Tag tag, Kind kind, Bytes stamped);
    /// Announces all whose time has come; the calls hand them over.
    void release(Calls& calls);
    /// When the first of those held may be handed over.
    [[nodiscard]] Duration next_due() const noexcept {
        return Duration(next_due_.load(std::memory_order_relaxed));
    }

private:
    struct Held {
        Duration due;
        std::uint64_t order;
        int source;
        Tag tag;
        Kind kind;
        Bytes bytes;  ///< with the stamp in front
        friend bool operator<(const Held& a, const Held& b) {
            return a.due != b.due ? a.due > b.due : a.order > b.order;  // earliest on top
        }
    };

    LinkModel model_;
    Inbox& inbox_;
    std::shared_ptr<std::span<std::byte>> free_;
    std::priority_queue<Held> held_;
    std::uint64_t next_order_ = 0;
    std::atomic<Duration::rep> next_due_{Duration::max().count()};
};

}  // namespace rudder::comm
