// Ranks that share a buffer: what they need goes to the first, their rows come back through the
// host's window.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/executor/monitor.hpp"
#include "core/executor/task_group.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/rows.hpp"

#include "landing.hpp"

namespace rudder::buffer {

/// What a rank of the host needs in a step.
struct RankNeeds {
    std::vector<VertexId> remote;  ///< distinct, by first appearance
    std::vector<VertexId> local;   ///< not distinct
    std::uint64_t repeats = 0;     ///< further uses of remote rows
};

/// What comes with a member's rows of a step.
struct Delivered {
    Rows counts;
    double agent_seconds = 0;  ///< as StepRows has them
};

/// One rank's side. Members tell what coming steps need (`publish`), ask for a step (`want`) and
/// wait for it; the first is told by calls, and delivers. Rows travel in pieces through two places
/// per member in the host's window. The first says how far it wants to see (`tell_ahead`), and
/// members say how far they have looked.
class HostExchange {
public:
    /// Called by tasks of its own.
    struct Events {
        // On the first rank.
        std::function<void(int member, std::uint64_t step, RankNeeds needs)> published;
        std::function<void(int member, std::uint64_t step)> wanted;
        /// As StepTurns::looked.
        std::function<void(int member, std::uint64_t step)> looked;
        // On members.
        /// So many steps after this one, which was wanted, are to be published, or as many as there
        /// is room for; returns once they are.
        std::function<void(std::uint64_t step, std::uint64_t ahead)> look;
        // On all.
        std::function<void(const std::exception_ptr&)> failed;
    };

    /// Collective over the host, whose communicator `host` is.
    HostExchange(const comm::Communicator& host, std::size_t row_bytes, Events events);
    ~HostExchange();

    [[nodiscard]] bool first() const noexcept { return host_.rank() == 0; }
    [[nodiscard]] int size() const noexcept { return host_.size(); }

    // ---- members ----
    void publish(std::uint64_t step, const RankNeeds& needs);
    /// Asks for a step, all of which has been published, as have been so many after it, or as many
    /// as there is room for; its rows go to `into`. How many the first rank wants to see by now: if
    /// more, the caller looks further and says so.
    [[nodiscard]] std::uint64_t want(std::uint64_t step, std::shared_ptr<Landing> into,
                                     std::uint64_t ahead);
    /// The steps up to this one have been published, or as many as there is room for.
    void looked(std::uint64_t step);
    /// Waits for its rows; false if halted before they came.
    [[nodiscard]] bool wait(std::uint64_t step, Delivered& with);
    /// How many steps the first rank wants to see beyond the one it begins, as it said last.
    [[nodiscard]] std::optional<std::uint64_t> steps_ahead() const;
    /// Counts of steps that came and were not waited for.
    [[nodiscard]] Rows leftover();

    // ---- the first ----
    /// Hands a member the rows of a step it has asked for.
    void deliver(int member, std::uint64_t step, std::span<const std::byte* const> rows,
                 const Delivered& with);
    /// Tells all members how many steps it wants to see beyond the one it begins, if that is
    /// another number than before. One call at a time.
    void tell_ahead(std::uint64_t steps);

    void halt();
    /// Collective: all messages have been received.
    void finish();

private:
    struct Incoming {
        std::shared_ptr<Landing> into;
        Delivered with;
        bool complete = false;
    };
    [[nodiscard]] std::span<std::byte> place(int member, std::size_t which);
    void hear_member(int member);
    void hear_first();
    void follow_first(std::uint64_t ahead);
    void send(int to, std::vector<std::byte> bytes);

    comm::Communicator host_;
    std::size_t row_bytes_;
    std::size_t piece_rows_;
    Events events_;
    std::shared_ptr<std::span<std::byte>> window_;
    std::optional<std::uint64_t> told_;  ///< by the first, to members

    mutable Monitor monitor_;                   ///< guards what follows
    std::optional<std::uint64_t> steps_ahead_;  ///< of a member: as it was told
    std::optional<std::uint64_t> wanted_;       ///< of a member: the last step
    std::map<std::uint64_t, Incoming> incoming_;
    std::vector<std::vector<bool>> busy_;  ///< by member and place
    bool halted_ = false;
    std::exception_ptr failure_;
    TaskGroup tasks_;
};

}  // namespace rudder::buffer
