#include "listen.hpp"

#include <algorithm>
#include <array>
#include <cctype>
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

namespace {

/// "name", "name:80", "127.0.0.1:80" or "[::1]:80" without the port.
std::string_view host_of(std::string_view host) {
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
    }
    return host.substr(0, host.find(':'));
}

bool same_name(std::string_view a, std::string_view b) {
    return std::ranges::equal(
        a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool is_address(const std::string& text) {
    in6_addr any{};
    return ::inet_pton(AF_INET, text.c_str(), &any) == 1 ||
           ::inet_pton(AF_INET6, text.c_str(), &any) == 1;
}

}  // namespace

bool names_this_machine(std::string_view header) {
    const std::string_view name = host_of(header);
    // Whoever typed an address was not led here by a name of somebody else's.
    if (is_address(std::string(name)) || same_name(name, "localhost")) return true;
    std::array<char, 256> own{};
    if (name.empty() || ::gethostname(own.data(), own.size() - 1) != 0) return false;
    const std::string_view machine(own.data());
    return same_name(name, machine) || same_name(name, machine.substr(0, machine.find('.')));
}

void check_address(const std::string& address) {
    static_cast<void>(endpoint(address, 0));
}

}  // namespace rudder::report
