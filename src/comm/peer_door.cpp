#include "peer_door.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

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

#include "door_guests.hpp"

namespace rudder::comm {

namespace {

constexpr int connect_limit_ms = 2000;

/// What a connecting rank says first.
struct Hello {
    JobToken token{};
    std::int64_t rank = 0;
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

}  // namespace

JobToken draw_token() {
    JobToken token{};
    if (::getrandom(token.data(), sizeof(token), 0) != static_cast<ssize_t>(sizeof(token)))
        throw system_error("cannot draw a random number", "getrandom", errno);
    return token;
}

PeerDoor::PeerDoor(Reach reach) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in any =
        socket_address(htonl(reach == Reach::everywhere ? INADDR_ANY : INADDR_LOOPBACK), 0);
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
    std::vector<int> sockets(expected.size(), -1);
    auto missing = std::count(expected.begin() + first, expected.end(), true);
    DoorGuests guests(listener_, sizeof(Hello), [&](int fd, std::span<const std::byte> said) {
        Hello hello;
        std::memcpy(&hello, said.data(), sizeof(hello));
        const auto size = static_cast<std::int64_t>(sockets.size());
        if (hello.token != token || hello.rank < first || hello.rank >= size) return false;
        const auto rank = static_cast<std::size_t>(hello.rank);
        if (!expected[rank] || sockets[rank] >= 0) return false;
        sockets[rank] = fd;
        --missing;
        return true;
    });
    guests.attend_until([&] { return missing == 0; }, limit);
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
