#include "socket_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rudder/core/error.hpp"

namespace rudder::comm {

namespace {

/// Frames that leave with one call.
constexpr std::size_t frames_per_call = 16;
/// What is left of a message is read straight into its place from this size on.
constexpr std::size_t straight_bytes = std::size_t{16} << 10;
/// After so much others have their turn.
constexpr std::size_t bytes_per_turn = std::size_t{1} << 20;

/// A part of a frame, for the system.
iovec part_of(const void* data, std::size_t bytes) {
    return {const_cast<void*>(data), bytes};  // only read from
}

}  // namespace

SocketStream::~SocketStream() {
    ::close(fd_);
}

// ---- out ---------------------------------------------------------------------------------------

bool SocketStream::send(const FrameHead& head, std::span<const std::byte> bytes,
                        std::shared_ptr<Operation> operation, Calls& calls) {
    const std::scoped_lock lock(out_mutex_);
    out_.push_back({head, bytes, std::move(operation)});
    if (broken_) {
        drop_outgoing(calls);
        return false;
    }
    return out_.size() > 1 || write_some(calls);
}

bool SocketStream::flush(Calls& calls) {
    const std::scoped_lock lock(out_mutex_);
    return write_some(calls);
}

bool SocketStream::flushed() {
    const std::scoped_lock lock(out_mutex_);
    return out_.empty();
}

bool SocketStream::write_some(Calls& calls) {
    while (!out_.empty()) {
        std::array<iovec, 2 * frames_per_call> parts;
        std::size_t count = 0;
        std::size_t skip = out_sent_;
        for (std::size_t i = 0; i < std::min(out_.size(), frames_per_call); ++i) {
            const Outgoing& frame = out_[i];
            const std::size_t of_head = std::min(skip, sizeof(FrameHead));
            if (of_head < sizeof(FrameHead)) {
                parts[count++] = part_of(reinterpret_cast<const std::byte*>(&frame.head) + of_head,
                                         sizeof(FrameHead) - of_head);
            }
            const std::size_t of_bytes = skip - of_head;
            if (of_bytes < frame.bytes.size()) {
                parts[count++] =
                    part_of(frame.bytes.data() + of_bytes, frame.bytes.size() - of_bytes);
            }
            skip = 0;
        }
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = count;
        const ssize_t sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno == EAGAIN) return true;
        if (sent < 0) {
            broken_ = true;
            drop_outgoing(calls);
            return false;
        }
        take_sent(static_cast<std::size_t>(sent), calls);
    }
    return false;
}

void SocketStream::take_sent(std::size_t bytes, Calls& calls) {
    out_sent_ += bytes;
    while (!out_.empty()) {
        const std::size_t whole = sizeof(FrameHead) + out_.front().bytes.size();
        if (out_sent_ < whole) return;
        out_sent_ -= whole;
        if (auto operation = std::move(out_.front().operation))
            calls.emplace_back([operation = std::move(operation)] { operation->complete(); });
        out_.pop_front();
    }
}

/// Nobody is there to take it.
void SocketStream::drop_outgoing(Calls& calls) {
    for (Outgoing& frame : out_) {
        if (frame.operation == nullptr) continue;
        calls.emplace_back([operation = std::move(frame.operation), peer = peer_] {
            operation->complete(std::make_exception_ptr(
                Error(ErrorKind::rank, fmt::format("the connection to rank {} was lost", peer), "",
                      "look at what that rank said last")));
        });
    }
    out_.clear();
    out_sent_ = 0;
}

// ---- in ----------------------------------------------------------------------------------------

SocketStream::Heard SocketStream::receive(FrameSink& sink, Calls& calls) {
    const std::scoped_lock lock(in_mutex_);
    std::size_t budget = bytes_per_turn;
    Heard heard = Heard::some;
    while (heard == Heard::some && budget > 0) {
        const bool straight = in_message() && ticket_->bytes.size() - at_ >= straight_bytes;
        heard = straight ? read_place(sink, calls, budget) : read_buffer(sink, calls, budget);
    }
    return heard;
}

namespace {

/// What a read that brought nothing means.
SocketStream::Heard end_of_read(ssize_t got, bool left) {
    if (got < 0 && errno == EINTR) return SocketStream::Heard::some;
    if (got < 0 && errno == EAGAIN) return SocketStream::Heard::all;
    return left ? SocketStream::Heard::left : SocketStream::Heard::lost;
}

}  // namespace

SocketStream::Heard SocketStream::read_place(FrameSink& sink, Calls& calls, std::size_t& budget) {
    const std::span<std::byte> place = ticket_->bytes.subspan(at_);
    const ssize_t got =
        ::recv(fd_, place.data(), std::min(place.size(), bytes_per_turn), MSG_DONTWAIT);
    if (got <= 0) return end_of_read(got, left_);
    at_ += static_cast<std::size_t>(got);
    budget -= std::min(budget, static_cast<std::size_t>(got));
    if (at_ == ticket_->bytes.size()) end_message(sink, calls);
    return Heard::some;
}

SocketStream::Heard SocketStream::read_buffer(FrameSink& sink, Calls& calls, std::size_t& budget) {
    const ssize_t got = ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got <= 0) return end_of_read(got, left_);
    budget -= std::min(budget, static_cast<std::size_t>(got));
    return take(std::span(buffer_).first(static_cast<std::size_t>(got)), sink, calls);
}

SocketStream::Heard SocketStream::take(std::span<const std::byte> bytes, FrameSink& sink,
                                       Calls& calls) {
    while (!bytes.empty()) {
        if (left_) return Heard::lost;  // nothing may follow
        if (in_message()) {
            const std::size_t some = std::min(bytes.size(), ticket_->bytes.size() - at_);
            std::memcpy(ticket_->bytes.data() + at_, bytes.data(), some);
            at_ += some;
            bytes = bytes.subspan(some);
            if (at_ == ticket_->bytes.size()) end_message(sink, calls);
            continue;
        }
        const std::size_t some = std::min(bytes.size(), sizeof(FrameHead) - head_bytes_);
        std::memcpy(reinterpret_cast<std::byte*>(&head_) + head_bytes_, bytes.data(), some);
        head_bytes_ += some;
        bytes = bytes.subspan(some);
        if (head_bytes_ < sizeof(FrameHead)) break;
        head_bytes_ = 0;
        if (head_.tag >= tag_limit || head_.kind > Kind::requests_ahead) return Heard::lost;
        if (head_.last != 0) {
            left_ = true;
            continue;
        }
        ticket_ = sink.begin(peer_, head_);
        at_ = 0;
        if (head_.bytes == 0) end_message(sink, calls);
    }
    return left_ ? Heard::left : Heard::some;
}

void SocketStream::end_message(FrameSink& sink, Calls& calls) {
    sink.landed(peer_, std::exchange(ticket_, nullptr), calls);
}

void SocketStream::withdraw(const Operation& operation) {
    const std::scoped_lock lock(in_mutex_);
    // One that has a place of its own may get its receive at any time: that is the inbox's affair.
    if (ticket_ == nullptr || ticket_->bytes.empty() || !ticket_->own.empty()) return;
    if (ticket_->receive->operation.get() != &operation) return;
    const std::size_t bytes = ticket_->bytes.size();
    ticket_->receive->into.reset();
    ticket_->own.resize(bytes);
    ticket_->bytes = ticket_->own;
}

}  // namespace rudder::comm
