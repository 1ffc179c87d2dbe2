#include "listen.hpp"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report/prometheus_sink.hpp"
#include "rudder/core/error.hpp"

namespace rudder::report {

namespace {

/// An IPv4 or IPv6 address with its port.
struct Endpoint {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* pointer() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
    [[nodiscard]] sockaddr* pointer() { return reinterpret_cast<sockaddr*>(&storage); }
    [[nodiscard]] std::uint16_t port() const {
        sockaddr_in6 six{};
        sockaddr_in four{};
        std::memcpy(&six, &storage, sizeof(six));
        std::memcpy(&four, &storage, sizeof(four));
        return ntohs(storage.ss_family == AF_INET6 ? six.sin6_port : four.sin_port);
    }
};

Endpoint endpoint(const std::string& address, std::uint16_t port) {
    Endpoint end;
    sockaddr_in four{};
    sockaddr_in6 six{};
    if (::inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        std::memcpy(&end.storage, &four, sizeof(four));
        end.size = sizeof(four);
    } else if (::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        std::memcpy(&end.storage, &six, sizeof(six));
        end.size = sizeof(six);
    } else {
        throw usage_error(fmt::format("invalid address: '{}'", address), "--metrics-address",
                          "give an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::1");
    }
    return end;
}

}  // namespace

int listen_at(const std::string& address, std::uint16_t port, std::uint16_t& chosen) {
    Endpoint end = endpoint(address, port);
    const int fd = ::socket(end.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || ::bind(fd, end.pointer(), end.size) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
        ::getsockname(fd, end.pointer(), &end.size) != 0) {
        const int code = errno;
        if (fd >= 0) ::close(fd);
        throw system_error("cannot listen for Prometheus", fmt::format("{} port {}", address, port),
                           code);
    }
    chosen = end.port();
    return fd;
}

void check_address(const std::string& address) {
    static_cast<void>(endpoint(address, 0));
}

}  // namespace rudder::report
