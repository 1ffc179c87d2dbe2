#include "report/prometheus_sink.hpp"

#include <cerrno>
#include <string_view>

#include <fmt/format.h>
#include <microhttpd.h>
#include <unistd.h>

#include "core/cpu_meter.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"

#include "listen.hpp"

namespace rudder::report {

namespace {

constexpr unsigned int most_clients = 64;
constexpr std::size_t client_memory = std::size_t{32} << 10;
constexpr std::uintptr_t most_body = std::uintptr_t{64}
                                     << 10;  ///< bytes that are read to be dropped

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
    const char* host =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    if (host != nullptr && !names_this_machine(host)) {
        return answer(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                      "not a name of this machine; use its address\n", plain);
    }
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n", plain);
    if (path == "/metrics") {
        return answer(connection, MHD_HTTP_OK, metrics.text(),
                      "text/plain; version=0.0.4; charset=utf-8");
    }
    // Names need not be UTF-8.
    if (path == "/status") {
        const std::string text =
            to_json(metrics.standing()).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
        return answer(connection, MHD_HTTP_OK, text, "application/json");
    }
    if (path == "/healthz") return answer(connection, MHD_HTTP_OK, "ok\n", plain);
    return answer(connection, MHD_HTTP_NOT_FOUND, "see /metrics, /status and /healthz\n", plain);
}

MHD_Result PrometheusSink::Server::handle(void* self, MHD_Connection* connection, const char* path,
                                          const char* method, const char* /*version*/,
                                          const char* /*data*/, std::size_t* size, void** state) {
    // The first call is for the headers alone; bodies are read and dropped. The state is the
    // number of bytes so far, and one: it is never followed.
    const auto keep = [state](std::uintptr_t count) {
        *state = reinterpret_cast<void*>(count);  // NOLINT(performance-no-int-to-ptr)
    };
    if (*state == nullptr) {
        keep(1);
        return MHD_YES;
    }
    if (*size != 0) {
        const std::uintptr_t read = reinterpret_cast<std::uintptr_t>(*state) + *size;
        keep(read);
        *size = 0;
        return read <= most_body ? MHD_YES : MHD_NO;
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
    : metrics_(options.ranks, options.info, options.plan),
      server_(new Server{metrics_, {}, nullptr, {}}) {
    std::uint16_t port = 0;
    const int fd = listen_at(options.address, options.port, port);
    const bool six = options.address.find(':') != std::string::npos;
    server_->url = fmt::format("http://{}{}{}:{}/metrics", six ? "[" : "", options.address,
                               six ? "]" : "", port);
    server_->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD, 0, nullptr, nullptr, &Server::handle, server_.get(),
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_TIMEOUT, options.patience,
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
