#include "peer_links.hpp"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rudder::comm {

namespace {

constexpr int connect_limit_ms = 2000;
constexpr int accept_limit_ms = 20000;

/// What a connecting rank says first.
struct Hello {
    std::uint64_t token;
    std::int32_t rank;
};

/// Where a rank listens: its addresses (network order; loopback last) and its port.
struct Address {
    std::array<std::uint32_t, 8> hosts{};
    std::uint16_t port = 0;
};

Error link_error(const std::string& what, int rank) {
    return {ErrorKind::rank, what, fmt::format("watchdog, rank {}", rank),
            "check that the machines can reach each other over TCP"};
}

Address own_addresses(std::uint16_t port) {
    Address address;
    address.port = port;
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

sockaddr_in socket_address(std::uint32_t host, std::uint16_t port) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = host;
    in.sin_port = htons(port);
    return in;
}

bool wait_for(int fd, short events, int limit_ms) {
    pollfd poll{fd, events, 0};
    return ::poll(&poll, 1, limit_ms) == 1;
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
        if (code == EINPROGRESS && wait_for(fd, POLLOUT, connect_limit_ms)) {
            socklen_t size = sizeof(code);
            ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size);
        }
        if (code == 0) return fd;
        ::close(fd);
    }
    return -1;
}

int listen_somewhere(std::uint16_t& port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in any = socket_address(htonl(INADDR_ANY), 0);
    sockaddr generic{};
    std::memcpy(&generic, &any, sizeof(generic));
    sockaddr_in bound{};
    socklen_t size = sizeof(bound);
    if (fd < 0 || ::bind(fd, &generic, sizeof(any)) != 0 || ::listen(fd, 1024) != 0) return -1;
    sockaddr name{};
    if (::getsockname(fd, &name, &size) != 0) return -1;
    std::memcpy(&bound, &name, sizeof(bound));
    port = ntohs(bound.sin_port);
    return fd;
}

void prepare(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

}  // namespace

PeerLinks::PeerLinks(const Communicator& comm, const std::vector<bool>& peers, std::uint64_t token)
    : sockets_(peers.size(), -1), partial_(peers.size()) {
    int expected = 0;
    for (int r = comm.rank() + 1; r < comm.size(); ++r) {
        expected += peers[static_cast<std::size_t>(r)] ? 1 : 0;
    }
    std::uint16_t port = 0;
    const int listener = listen_somewhere(port);
    const Address mine = own_addresses(port);
    const auto all = comm.all_gather(std::span(&mine, 1));
    // The higher rank connects to the lower one.
    for (int r = 0; r < comm.rank(); ++r) {
        if (!peers[static_cast<std::size_t>(r)]) continue;
        const int fd = connect_to(all[static_cast<std::size_t>(r)].front());
        if (fd < 0) throw link_error(fmt::format("cannot connect to rank {}", r), comm.rank());
        const Hello hello{token, comm.rank()};
        if (::send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) {
            throw link_error(fmt::format("handshake with rank {} failed", r), comm.rank());
        }
        prepare(fd);
        sockets_[static_cast<std::size_t>(r)] = fd;
    }
    while (expected > 0) {
        if (listener < 0 || !wait_for(listener, POLLIN, accept_limit_ms)) {
            throw link_error("a rank of another machine did not connect", comm.rank());
        }
        const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        Hello hello{};
        const bool greeted = fd >= 0 && wait_for(fd, POLLIN, connect_limit_ms) &&
                             ::recv(fd, &hello, sizeof(hello), MSG_WAITALL) == sizeof(hello);
        const bool known =
            greeted && hello.token == token && hello.rank > comm.rank() && hello.rank < comm.size();
        if (!known) {  // a stranger on our port
            if (fd >= 0) ::close(fd);
            continue;
        }
        prepare(fd);
        sockets_[static_cast<std::size_t>(hello.rank)] = fd;
        --expected;
    }
    if (listener >= 0) ::close(listener);
}

PeerLinks::~PeerLinks() {
    for (const int fd : sockets_) {
        if (fd >= 0) ::close(fd);
    }
}

void PeerLinks::send_all(const RankReport& report) {
    for (const int fd : sockets_) {
        if (fd >= 0) ::send(fd, &report, sizeof(report), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

bool PeerLinks::receive(int rank, RankReport& report, bool& fresh) {
    const auto index = static_cast<std::size_t>(rank);
    std::vector<char>& held = partial_[index];
    std::array<char, 4096> buffer{};
    fresh = false;
    for (;;) {
        const ssize_t got = ::recv(sockets_[index], buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (got <= 0) {
            ::close(sockets_[index]);
            sockets_[index] = -1;
            return false;
        }
        held.insert(held.end(), buffer.begin(), buffer.begin() + got);
        while (held.size() >= sizeof(RankReport)) {
            std::memcpy(static_cast<void*>(&report), held.data(), sizeof(RankReport));
            held.erase(held.begin(), held.begin() + sizeof(RankReport));
            fresh = true;
        }
    }
    return true;
}

}  // namespace rudder::comm
