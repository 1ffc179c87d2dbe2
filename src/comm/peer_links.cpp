#include "peer_links.hpp"

#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/error.hpp"

namespace rudder::comm {

namespace {

constexpr auto admit_limit = std::chrono::seconds(20);

Error link_error(const std::string& what, int rank) {
    return {ErrorKind::rank, what, fmt::format("watchdog, rank {}", rank),
            "check that the machines can reach each other over TCP"};
}

/// Whether the socket has taken all of it; what it has not stays.
bool send_now(int fd, std::vector<char>& bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) bytes.clear();  // it is gone, which receive finds out
        if (sent <= 0) break;
        bytes.erase(bytes.begin(), bytes.begin() + sent);
    }
    return bytes.empty();
}

}  // namespace

PeerLinks::PeerLinks(std::vector<int> sockets)
    : sockets_(std::move(sockets)), partial_(sockets_.size()), outgoing_(sockets_.size()) {}

PeerLinks::PeerLinks(const Communicator& comm, const std::vector<bool>& peers,
                     const JobToken& token)
    : PeerLinks(std::vector<int>(peers.size(), -1)) {
    bool expects = false;
    for (std::size_t r = static_cast<std::size_t>(comm.rank()) + 1; r < peers.size(); ++r)
        expects = expects || peers[r];
    // Nothing listens where nobody is to come.
    std::optional<PeerDoor> door;
    if (expects) door.emplace();
    const Address mine = door ? door->address() : Address{};
    const auto all = comm.all_gather(std::span(&mine, 1));
    // The higher rank connects to the lower one.
    for (int r = 0; r < comm.rank(); ++r) {
        const auto index = static_cast<std::size_t>(r);
        if (!peers[index]) continue;
        sockets_[index] = knock(all[index].front(), token, comm.rank());
        if (sockets_[index] < 0)
            throw link_error(fmt::format("cannot connect to rank {}", r), comm.rank());
    }
    if (!door) return;
    const std::vector<int> came = door->admit(token, comm.rank() + 1, peers, admit_limit);
    for (std::size_t r = static_cast<std::size_t>(comm.rank()) + 1; r < peers.size(); ++r)
        sockets_[r] = came[r];
    for (std::size_t r = static_cast<std::size_t>(comm.rank()) + 1; r < peers.size(); ++r) {
        if (peers[r] && sockets_[r] < 0) {
            throw link_error(fmt::format("rank {} of another machine did not connect", r),
                             comm.rank());
        }
    }
}

PeerLinks::~PeerLinks() {
    for (const int fd : sockets_) {
        if (fd >= 0) ::close(fd);
    }
}

int PeerLinks::socket(int rank) const {
    const std::scoped_lock lock(mutex_);
    return sockets_[static_cast<std::size_t>(rank)];
}

void PeerLinks::send_all(const RankReport& report) {
    const std::scoped_lock lock(mutex_);
    const std::vector<char> frame = report_frame(report);
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
        if (sockets_[i] >= 0) outgoing_[i].next = frame;
    }
    static_cast<void>(send_some());
}

/// Whether nothing is left; under the lock.
bool PeerLinks::send_some() {
    bool all = true;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
        if (sockets_[i] < 0) continue;
        Outgoing& out = outgoing_[i];
        if (send_now(sockets_[i], out.rest)) {
            out.rest.swap(out.next);
            out.next.clear();
            static_cast<void>(send_now(sockets_[i], out.rest));
        }
        all = all && out.rest.empty() && out.next.empty();
    }
    return all;
}

void PeerLinks::flush(std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    for (;;) {
        {
            const std::scoped_lock lock(mutex_);
            if (send_some()) return;
        }
        if (std::chrono::steady_clock::now() >= end) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

void PeerLinks::close_link(std::size_t index) {
    ::close(sockets_[index]);
    sockets_[index] = -1;
}

PeerLinks::Heard PeerLinks::receive(int rank, RankReport& report) {
    const auto index = static_cast<std::size_t>(rank);
    const std::scoped_lock lock(mutex_);
    std::vector<char>& held = partial_[index];
    std::array<char, 4096> buffer{};
    Heard heard = Heard::nothing;
    while (sockets_[index] >= 0) {
        const ssize_t got = ::recv(sockets_[index], buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return heard;
        if (got <= 0) break;
        held.insert(held.end(), buffer.begin(), buffer.begin() + got);
        while (held.size() >= report_frame_bytes) {
            const auto fresh = read_report(std::span(held).first(report_frame_bytes));
            if (!fresh) {
                close_link(index);
                return Heard::nonsense;
            }
            report = *fresh;
            heard = Heard::report;
            held.erase(held.begin(), held.begin() + report_frame_bytes);
        }
    }
    if (sockets_[index] >= 0) close_link(index);
    return Heard::closed;
}

}  // namespace rudder::comm
