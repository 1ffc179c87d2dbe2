// HTTP responses: the bytes are sent by a server on this machine; the client finds a fault or what
// a slow simple reader of plain responses finds.
#include "steer/llm/http.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <mutex>
#include <optional>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/text.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

/// Answers every connection with the bytes of the present input, then closes it.
class OneAnswer {
public:
    OneAnswer() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof(address);
        auto* plain = reinterpret_cast<sockaddr*>(&address);
        FUZZ_EXPECT(::bind(listener_, plain, length) == 0);
        FUZZ_EXPECT(::listen(listener_, 16) == 0);
        FUZZ_EXPECT(::getsockname(listener_, plain, &length) == 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~OneAnswer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    OneAnswer(const OneAnswer&) = delete;
    OneAnswer& operator=(const OneAnswer&) = delete;

    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    /// A client that has seen enough may be gone while an answer is still being sent, so a copy is.
    void set(std::string_view bytes) {
        const std::scoped_lock lock(mutex_);
        bytes_ = bytes;
    }

private:
    [[nodiscard]] std::string bytes() {
        const std::scoped_lock lock(mutex_);
        return bytes_;
    }
    void serve() {
        for (;;) {
            const int peer = ::accept(listener_, nullptr, nullptr);
            if (peer < 0) return;
            char request[4096];
            if (::recv(peer, request, sizeof(request), 0) > 0) {
                const std::string answer = bytes();
                std::string_view left = answer;
                while (!left.empty()) {
                    const ssize_t sent = ::send(peer, left.data(), left.size(), MSG_NOSIGNAL);
                    if (sent <= 0) break;
                    left.remove_prefix(static_cast<std::size_t>(sent));
                }
            }
            ::shutdown(peer, SHUT_WR);
            while (::recv(peer, request, sizeof(request), 0) > 0) {
            }
            ::close(peer);
        }
    }

    int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::uint16_t port_ = 0;
    std::mutex mutex_;
    std::string bytes_;  ///< guarded by it
    std::thread thread_;
};

struct PlainResponse {
    int status = 0;
    std::string type;
    std::string body;
};

/// A plain response: one status line, header lines "Name: value" of which at most one is of each
/// kind that matters, a length that is met or none. Nothing where it is anything else.
std::optional<PlainResponse> slow_response(std::string_view bytes) {
    const std::size_t head = bytes.find("\r\n\r\n");
    if (head == std::string_view::npos || !bytes.starts_with("HTTP/1.1 ")) return std::nullopt;
    PlainResponse found;
    std::string_view lines = bytes.substr(9, head - 9);
    const std::string_view code = lines.substr(0, 3);
    if (code.size() < 3 || lines.substr(3, 3) != " OK") return std::nullopt;
    if (code != "200" && code != "404" && code != "503") return std::nullopt;
    found.status = std::stoi(std::string(code));
    found.body = bytes.substr(head + 4);
    std::optional<std::string> length;
    for (lines.remove_prefix(6); !lines.empty();) {
        if (!lines.starts_with("\r\n")) return std::nullopt;
        lines.remove_prefix(2);
        const std::string_view line = lines.substr(0, lines.find('\r'));
        lines.remove_prefix(line.size());
        const std::size_t colon = line.find(": ");
        if (colon == std::string_view::npos) return std::nullopt;
        const std::string_view value = line.substr(colon + 2);
        for (const char c : line)
            if (c <= ' ' && c != ' ') return std::nullopt;
        if (value.empty() || value.find_first_of(" ;") != std::string_view::npos)
            return std::nullopt;
        if (line.substr(0, colon) == "Content-Length" && !length) {
            length = value;
        } else if (line.substr(0, colon) == "Content-Type" && found.type.empty()) {
            found.type = value;
        } else {
            return std::nullopt;
        }
    }
    if (length && *length != std::to_string(found.body.size())) return std::nullopt;
    if (found.body.size() > steer::HttpClient::most_bytes) return std::nullopt;
    std::transform(found.type.begin(), found.type.end(), found.type.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return found;
}

}  // namespace

void check(std::string_view bytes) {
    static OneAnswer server;
    server.set(bytes);
    steer::HttpClient client(steer::Endpoint::parse(server.url(), false), "a-secret-key");
    const auto response =
        client.get("/", steer::HttpClient::Clock::now() + std::chrono::seconds(5));
    FUZZ_EXPECT((response.fault == steer::HttpFault::none) == response.problem.empty());
    FUZZ_EXPECT(response.fault == steer::HttpFault::none || response.body.empty());
    FUZZ_EXPECT(response.fault != steer::HttpFault::deadline);
    FUZZ_EXPECT(response.body.size() <= steer::HttpClient::most_bytes);
    FUZZ_EXPECT(!client.reveals_key(response.problem));
    const auto expected = slow_response(bytes);
    if (!expected) return;
    FUZZ_EXPECT(response.fault == steer::HttpFault::none);
    FUZZ_EXPECT(response.status == expected->status);
    FUZZ_EXPECT(response.content_type == expected->type);
    FUZZ_EXPECT(response.body == expected->body);
}

std::vector<std::string> seeds() {
    return {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 404 OK\r\nContent-Type: Text/Plain\r\n\r\nno",
            "HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
            "HTTP/1.0 200 OK\nContent-Length: 1\n\nx",
            "not HTTP at all"};
}

}  // namespace rudder::fuzz
