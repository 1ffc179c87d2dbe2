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

private:
    static void finish(Arrival& arrival);

    int rank_;
    Accounts& accounts_;
    std::mutex mutex_;
    std::list<PostedReceive> posted_;
    std::list<Ticket> unclaimed_;
};

}  // namespace rudder::comm
