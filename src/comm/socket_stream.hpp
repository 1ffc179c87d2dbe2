// A connection to one rank: messages as frames, in both directions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>

#include "rudder/comm/inbox.hpp"

#include "link_clock.hpp"
#include "modelled_link.hpp"

namespace rudder::comm {

/// What a message begins with. Ranks of one job are of one build: its layout is the wire's.
struct FrameHead {
    std::uint64_t bytes = 0;  ///< that follow
    LinkStamp stamp{};        ///< over a modelled link
    Tag tag = 0;
    Kind kind = Kind::control;
    std::uint8_t last = 0;  ///< 1: no message; the rank has left, and nothing follows
    std::uint16_t unused = 0;
};
static_assert(sizeof(FrameHead) == 32 && std::is_trivially_copyable_v<FrameHead>);

/// Where messages go that come in.
class FrameSink {
public:
    /// A message is coming: its bytes are to be written to the ticket's place.
    [[nodiscard]] virtual Inbox::Ticket begin(int source, const FrameHead& head) = 0;
    /// They are there; what follows from it is called when no lock is held.
    virtual void landed(int source, const Inbox::Ticket& ticket, Calls& calls) = 0;

protected:
    ~FrameSink() = default;
};

/// One rank's end of a connection. Any thread may call; whatever ends is called by `calls`.
class SocketStream {
public:
    enum class Heard : std::uint8_t {
        some,  ///< there may be more
        all,   ///< that has come so far
        left,  ///< the rank has said that it leaves
        lost,  ///< the connection ended, or has brought nonsense
    };

    /// Takes a non-blocking socket, and closes it at the end.
    SocketStream(int peer, int fd) : peer_(peer), fd_(fd) {}
    ~SocketStream();
    SocketStream(SocketStream&&) = delete;

    [[nodiscard]] int peer() const noexcept { return peer_; }
    [[nodiscard]] int fd() const noexcept { return fd_; }

    /// Sends a frame behind those that wait to leave; `bytes` stay until the operation (null for
    /// none) is done. Whether some of it has to wait until the socket takes more (`flush`).
    bool send(const FrameHead& head, std::span<const std::byte> bytes,
              std::shared_ptr<Operation> operation, Calls& calls);
    /// The socket takes more: sends what waits. Whether some is left.
    bool flush(Calls& calls);
    /// Whether everything has left.
    [[nodiscard]] bool flushed();
    /// Takes what has come, a mebibyte or a message at most.
    [[nodiscard]] Heard receive(FrameSink& sink, Calls& calls);
    /// Nothing is written any more to the memory of that receive; its message is dropped.
    void withdraw(const Operation& operation);

private:
    struct Outgoing {
        FrameHead head;
        std::span<const std::byte> bytes;
        std::shared_ptr<Operation> operation;
    };

    bool write_some(Calls& calls);
    void take_sent(std::size_t bytes, Calls& calls);
    void drop_outgoing(Calls& calls);
    [[nodiscard]] bool in_message() const noexcept { return ticket_ != nullptr; }
    Heard read_place(FrameSink& sink, Calls& calls, std::size_t& budget);
    Heard read_buffer(FrameSink& sink, Calls& calls, std::size_t& budget);
    Heard take(std::span<const std::byte> bytes, FrameSink& sink, Calls& calls);
    void end_message(FrameSink& sink, Calls& calls);

    int peer_;
    int fd_;

    std::mutex out_mutex_;
    std::deque<Outgoing> out_;
    std::size_t out_sent_ = 0;  ///< of the first one, its head included
    bool broken_ = false;       ///< nobody takes anything any more

    std::mutex in_mutex_;
    FrameHead head_;
    std::size_t head_bytes_ = 0;  ///< of it that have come
    Inbox::Ticket ticket_;        ///< of the message that is coming
    std::size_t at_ = 0;          ///< its bytes that have come
    bool left_ = false;
    std::array<std::byte, std::size_t{64} << 10> buffer_;
};

}  // namespace rudder::comm
