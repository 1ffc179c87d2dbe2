#include "report/prometheus_sink.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cpu_meter.hpp"
#include "rudder/core/error.hpp"

namespace rudder::report {

namespace {

constexpr unsigned int seconds_of_patience = 10;  ///< with a client that says nothing
constexpr unsigned int most_clients = 64;
constexpr std::size_t client_memory = std::size_t{32} << 10;

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
        throw usage_error(fmt::format("'{}' is no address", address), "--metrics-address",
                          "give an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::1");
    }
    return end;
}

/// Listens, and says on which port.
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

MHD_Result answer(MHD_Connection* connection, unsigned int code, std::string_view text,
                  const char* type) {
    // The library copies the text, though its interface does not say that it leaves it alone.
    MHD_Response* response = MHD_create_response_from_buffer(
        text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    const MHD_Result result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

}  // namespace

void check_address(const std::string& address) {
    static_cast<void>(endpoint(address, 0));
}

struct PrometheusSink::Server {
    const PrometheusMetrics& metrics;
    std::string url;
    MHD_Daemon* daemon = nullptr;
    std::atomic<std::uint64_t> cpu{0};  ///< of the server's thread, up to the last answer

    MHD_Result serve(MHD_Connection* connection, std::string_view path, std::string_view method);
    /// The interface of the library.
    static MHD_Result handle(void* self, MHD_Connection* connection, const char* path,
                             const char* method, const char* version, const char* data,
                             std::size_t* size, void** state);
    static void completed(void* self, MHD_Connection* connection, void** state,
                          MHD_RequestTerminationCode code);
};

MHD_Result PrometheusSink::Server::serve(MHD_Connection* connection, std::string_view path,
                                         std::string_view method) {
    constexpr const char* plain = "text/plain; charset=utf-8";
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n", plain);
    if (path != "/metrics") return answer(connection, MHD_HTTP_NOT_FOUND, "see /metrics\n", plain);
    return answer(connection, MHD_HTTP_OK, metrics.text(),
                  "text/plain; version=0.0.4; charset=utf-8");
}

MHD_Result PrometheusSink::Server::handle(void* self, MHD_Connection* connection, const char* path,
                                          const char* method, const char* /*version*/,
                                          const char* /*data*/, std::size_t* size, void** state) {
    // The first call is for the headers alone; bodies are read and dropped.
    static char seen = 0;
    if (*state == nullptr) {
        *state = &seen;
        return MHD_YES;
    }
    if (*size != 0) {
        *size = 0;
        return MHD_YES;
    }
    try {
        return static_cast<Server*>(self)->serve(connection, path, method);
    } catch (const std::exception&) {
        return MHD_NO;  // out of memory: this client gets nothing
    }
}

void PrometheusSink::Server::completed(void* self, MHD_Connection* /*connection*/, void** /*state*/,
                                       MHD_RequestTerminationCode /*code*/) {
    static_cast<Server*>(self)->cpu.store(thread_cpu_nanoseconds(), std::memory_order_relaxed);
}

PrometheusSink::PrometheusSink(const PrometheusOptions& options)
    : metrics_(options.ranks, options.info), server_(new Server{metrics_, {}, nullptr, {}}) {
    std::uint16_t port = 0;
    const int fd = listen_at(options.address, options.port, port);
    const bool six = options.address.find(':') != std::string::npos;
    server_->url = fmt::format("http://{}{}{}:{}/metrics", six ? "[" : "", options.address,
                               six ? "]" : "", port);
    server_->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD, 0, nullptr, nullptr, &Server::handle, server_.get(),
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_TIMEOUT, seconds_of_patience,
        MHD_OPTION_CONNECTION_LIMIT, most_clients, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        client_memory, MHD_OPTION_NOTIFY_COMPLETED, &Server::completed, server_.get(),
        MHD_OPTION_END);
    if (server_->daemon == nullptr) {
        ::close(fd);
        throw system_error("cannot start the server for Prometheus", server_->url, errno);
    }
}

PrometheusSink::~PrometheusSink() {
    if (server_->daemon != nullptr) MHD_stop_daemon(server_->daemon);
}

std::uint64_t PrometheusSink::cpu_nanoseconds() const {
    return server_->cpu.load(std::memory_order_relaxed);
}

const std::string& PrometheusSink::url() const noexcept {
    return server_->url;
}

}  // namespace rudder::report
