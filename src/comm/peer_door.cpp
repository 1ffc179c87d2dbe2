#include "peer_door.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/error.hpp"

namespace rudder::comm {

namespace {

using DoorClock = std::chrono::steady_clock;

constexpr int connect_limit_ms = 2000;
/// For a guest to say who it is, and how many may be about to.
constexpr auto greeting_limit = std::chrono::seconds(2);
constexpr std::size_t most_guests = 256;

/// What a connecting rank says first.
struct Hello {
    JobToken token{};
    std::int64_t rank = 0;
};

/// Somebody who has connected and not yet said who it is.
struct Guest {
    int fd;
    DoorClock::time_point until;
    std::array<char, sizeof(Hello)> said{};
    std::size_t bytes = 0;
};

sockaddr_in socket_address(std::uint32_t host, std::uint16_t port) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = host;
    in.sin_port = htons(port);
    return in;
}

bool ready_within(int fd, short events, int limit_ms) {
    pollfd poll{fd, events, 0};
    return ::poll(&poll, 1, limit_ms) == 1;
}

void prepare(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/// A connection to one of a rank's addresses, or -1.
int connect_to(const Address& address) {
    for (const std::uint32_t host : address.hosts) {
        if (host == 0) continue;
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) return -1;
        const sockaddr_in in = socket_address(host, address.port);
        sockaddr generic{};
        std::memcpy(&generic, &in, sizeof(generic));
        int code = ::connect(fd, &generic, sizeof(in)) == 0 ? 0 : errno;
        if (code == EINPROGRESS && ready_within(fd, POLLOUT, connect_limit_ms)) {
            socklen_t size = sizeof(code);
            ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size);
        }
        if (code == 0) return fd;
        ::close(fd);
    }
    return -1;
}

/// Those who stand at the door, until each has said who it is or its time is up.
class Guests {
public:
    Guests(int listener, const JobToken& token, int first, const std::vector<bool>& expected)
        : listener_(listener),
          token_(token),
          first_(first),
          expected_(expected),
          sockets_(expected.size(), -1) {
        for (std::size_t r = static_cast<std::size_t>(first); r < expected.size(); ++r)
            missing_ += expected[r] ? 1 : 0;
    }
    ~Guests() {
        for (const Guest& guest : guests_)
            ::close(guest.fd);
    }
    Guests(Guests&&) = delete;

    [[nodiscard]] bool all_here() const noexcept { return missing_ == 0; }
    [[nodiscard]] std::vector<int> sockets() const { return sockets_; }

    /// Waits for something to happen at the door, and sees to it.
    void attend(std::chrono::milliseconds longest) {
        std::vector<pollfd> polls{{listener_, POLLIN, 0}};
        for (const Guest& guest : guests_)
            polls.push_back({guest.fd, POLLIN, 0});
        ::poll(polls.data(), polls.size(), static_cast<int>(longest.count()));
        const auto now = DoorClock::now();
        std::vector<Guest> staying;
        for (std::size_t i = 0; i < guests_.size(); ++i) {
            const bool stays =
                polls[i + 1].revents == 0 ? now < guests_[i].until : listen_to(guests_[i]);
            if (stays) {
                staying.push_back(guests_[i]);
            } else if (guests_[i].fd >= 0) {
                ::close(guests_[i].fd);
            }
        }
        guests_ = std::move(staying);
        if ((polls[0].revents & POLLIN) != 0) let_come(now);
    }

private:
    void let_come(DoorClock::time_point now) {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return;
        if (guests_.size() == most_guests) {  // the one who has been silent for longest goes
            ::close(guests_.front().fd);
            guests_.erase(guests_.begin());
        }
        guests_.push_back({fd, now + greeting_limit});
    }
    /// Whether it has more to say. Its socket is taken where it is one of ours.
    bool listen_to(Guest& guest) {
        const ssize_t got =
            ::recv(guest.fd, guest.said.data() + guest.bytes, guest.said.size() - guest.bytes, 0);
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        if (got == 0) return false;
        guest.bytes += static_cast<std::size_t>(got);
        if (guest.bytes < guest.said.size()) return true;
        Hello hello;
        std::memcpy(&hello, guest.said.data(), sizeof(hello));
        const auto size = static_cast<std::int64_t>(sockets_.size());
        const bool known = hello.token == token_ && hello.rank >= first_ && hello.rank < size;
        if (!known) return false;
        const auto rank = static_cast<std::size_t>(hello.rank);
        if (!expected_[rank] || sockets_[rank] >= 0) return false;
        sockets_[rank] = std::exchange(guest.fd, -1);
        --missing_;
        return false;
    }

    int listener_;
    JobToken token_;
    int first_;
    const std::vector<bool>& expected_;
    std::vector<int> sockets_;
    std::vector<Guest> guests_;
    int missing_ = 0;
};

}  // namespace

JobToken draw_token() {
    JobToken token{};
    if (::getrandom(token.data(), sizeof(token), 0) != static_cast<ssize_t>(sizeof(token)))
        throw system_error("cannot draw a random number", "getrandom", errno);
    return token;
}

PeerDoor::PeerDoor() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in any = socket_address(htonl(INADDR_ANY), 0);
    sockaddr generic{};
    std::memcpy(&generic, &any, sizeof(generic));
    sockaddr name{};
    socklen_t size = sizeof(name);
    const bool open = listener_ >= 0 && ::bind(listener_, &generic, sizeof(any)) == 0 &&
                      ::listen(listener_, 1024) == 0 && ::getsockname(listener_, &name, &size) == 0;
    if (!open) {
        const int code = errno;
        if (listener_ >= 0) ::close(listener_);
        throw system_error("cannot listen for the ranks of other machines", "watchdog", code);
    }
    sockaddr_in bound{};
    std::memcpy(&bound, &name, sizeof(bound));
    port_ = ntohs(bound.sin_port);
}

PeerDoor::~PeerDoor() {
    ::close(listener_);
}

Address PeerDoor::address() const {
    Address address;
    address.port = port_;
    std::size_t count = 0;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return address;
    for (const bool loopback : {false, true}) {
        for (const ifaddrs* at = list; at != nullptr && count < address.hosts.size();
             at = at->ifa_next) {
            if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
            if ((at->ifa_flags & IFF_UP) == 0) continue;
            if (((at->ifa_flags & IFF_LOOPBACK) != 0) != loopback) continue;
            sockaddr_in in{};
            std::memcpy(&in, at->ifa_addr, sizeof(in));
            address.hosts[count++] = in.sin_addr.s_addr;
        }
    }
    ::freeifaddrs(list);
    return address;
}

std::vector<int> PeerDoor::admit(const JobToken& token, int first,
                                 const std::vector<bool>& expected,
                                 std::chrono::milliseconds limit) const {
    const auto end = DoorClock::now() + limit;
    Guests guests(listener_, token, first, expected);
    while (!guests.all_here()) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - DoorClock::now());
        if (left.count() <= 0) break;
        // Now and then somebody's time is up.
        guests.attend(std::min(left, std::chrono::milliseconds(200)));
    }
    std::vector<int> sockets = guests.sockets();
    for (const int fd : sockets) {
        if (fd >= 0) prepare(fd);
    }
    return sockets;
}

int knock(const Address& address, const JobToken& token, int rank) {
    const int fd = connect_to(address);
    if (fd < 0) return fd;
    const Hello hello{token, rank};
    if (::send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(hello))) {
        ::close(fd);
        return -1;
    }
    prepare(fd);
    return fd;
}

}  // namespace rudder::comm
