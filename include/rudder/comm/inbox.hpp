// Matching of arriving messages with the receives that wait for them; one code for all bodies.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "rudder/comm/accounts.hpp"
#include "rudder/comm/request.hpp"

namespace rudder::comm {

/// What a message is matched by, besides its source.
using Tag = std::uint32_t;
/// Tags are below this, so that tag, kind and a flag fit the 15 bits every MPI grants.
inline constexpr Tag tag_limit = 2048;
/// Receives from whoever sends first.
inline constexpr int any_source = -1;

/// A receive that waits for its message. A span of known size takes a message of exactly that size;
/// without one the message's bytes go to the operation.
struct PostedReceive {
    int source = any_source;
    Tag tag = 0;
    std::optional<std::span<std::byte>> into;
    std::shared_ptr<Operation> operation;
};

/// The inbox of one rank. Messages of one source and tag match receives in the order they were
/// sent: a message takes its place when it is announced, and its bytes may follow later.
class Inbox {
public:
    Inbox(int rank, Accounts& accounts) : rank_(rank), accounts_(accounts) {}
    ~Inbox();
    Inbox(Inbox&&) = delete;

    /// A message that has been announced.
    struct Arrival {
        int source = any_source;
        Tag tag = 0;
        Kind kind = Kind::control;
        std::span<std::byte> bytes;  ///< where its bytes are to be written
        std::vector<std::byte> own;  ///< that place, unless a receive named one
        std::optional<PostedReceive> receive;
        bool ready = false;
    };
    using Ticket = std::shared_ptr<Arrival>;

    /// Posts a receive; completes it at once if its message is already here.
    void post(PostedReceive receive);
    /// A message of so many bytes is coming. Where the bytes are to go is in the ticket.
    [[nodiscard]] Ticket announce(int source, Tag tag, Kind kind, std::size_t bytes);
    /// The same, if the first receive that it matches names its source; null otherwise. Nothing
    /// that others send can then take its place, so that its bytes may come ahead of its time.
    [[nodiscard]] Ticket claim(int source, Tag tag, Kind kind, std::size_t bytes);
    /// A place of its own for a message that is to be announced later, by the call below.
    [[nodiscard]] static Ticket set_aside(int source, Tag tag, Kind kind, std::size_t bytes);
    void announce(const Ticket& ticket);
    /// Its bytes are in place: hands it over.
    void arrived(const Ticket& ticket);
    /// Both at once, for bytes that are at hand.
    void deliver(int source, Tag tag, Kind kind, std::span<const std::byte> bytes);
    /// Whether nothing that has arrived or waits here concerns messages of this source and tag, so
    /// that the next one may be received past the inbox.
    [[nodiscard]] bool quiet(int source, Tag tag);
    /// Hands over a message that was received past the inbox, straight into its place of `expected`
    /// bytes: accounts for it and completes its operation.
    void direct(int source, Tag tag, Kind kind, std::size_t bytes, std::size_t expected,
                Operation& operation);
    /// Takes back the place that a receive names, unless its message is being written there: that
    /// will go to the operation instead. False where that is so, or the receive is not here.
    bool withdraw(const Operation& operation);
    /// Lets go of receives whose messages will never come. What their callbacks hold may hold this
    /// inbox.
    void forget();

private:
    using Posted = std::list<PostedReceive>;
    static void finish(Arrival& arrival);
    [[nodiscard]] std::list<Ticket>::iterator coming_for(const Operation& operation);
    [[nodiscard]] Posted::iterator first_match(int source, Tag tag);
    /// Gives a receive its message, or the message a place in the queue.
    void match(const Ticket& ticket, Posted::iterator receive);

    int rank_;
    Accounts& accounts_;
    std::mutex mutex_;
    Posted posted_;
    std::list<Ticket> unclaimed_;
    std::list<Ticket> coming_;  ///< had no receive when they were announced, and have one now
};

}  // namespace rudder::comm
