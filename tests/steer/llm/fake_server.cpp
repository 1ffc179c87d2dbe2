#include "fake_server.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/executor/thread_executor.hpp"
#include "core/json.hpp"
#include "rudder/core/check.hpp"

namespace rudder::test {

namespace {

/// The request in `text`, if it is whole; takes it away.
bool take_request(std::string& text, FakeRequest& request) {
    const auto end = text.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    request = {};
    std::size_t at = text.find("\r\n");
    const std::string first = text.substr(0, at);
    request.method = first.substr(0, first.find(' '));
    request.path = first.substr(request.method.size() + 1);
    request.path.resize(request.path.find(' '));
    while (at < end) {
        const std::size_t next = text.find("\r\n", at + 2);
        const std::string line = text.substr(at + 2, next - at - 2);
        std::string name = line.substr(0, line.find(':'));
        for (char& c : name)
            c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (name.size() + 2 <= line.size()) request.headers[name] = line.substr(name.size() + 2);
        at = next;
    }
    std::size_t length = 0;
    if (request.headers.count("content-length") != 0)
        length = std::stoul(request.headers["content-length"]);
    if (text.size() < end + 4 + length) return false;
    request.body = text.substr(end + 4, length);
    text.erase(0, end + 4 + length);
    return true;
}

bool is_warm_up(const FakeRequest& request, const char* outer, const char* key) {
    const Json body = Json::parse(request.body);
    const Json& place = outer == nullptr ? body : body.at(outer);
    return place.at(key) == 1;
}

}  // namespace

FakeReply FakeReply::of(int status, const std::string& body, const std::string& type,
                        const std::string& headers) {
    FakeReply reply;
    reply.pieces.push_back(
        {std::chrono::milliseconds{0},
         fmt::format("HTTP/1.1 {} Scripted\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}\r\n{}",
                     status, type, body.size(), headers, body)});
    return reply;
}

FakeReply FakeReply::raw(std::string bytes, bool close) {
    FakeReply reply;
    reply.pieces.push_back({std::chrono::milliseconds{0}, std::move(bytes)});
    reply.close = close;
    return reply;
}

FakeServer::FakeServer(Handler handler)
    : handler_(std::move(handler)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    RUDDER_CHECK(listener_ >= 0 && bind(listener_, generic, size) == 0 &&
                 listen(listener_, 64) == 0 && getsockname(listener_, generic, &size) == 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = ThreadExecutor::process().spawn("fake server", [this] { accept_all(); });
}

FakeServer::~FakeServer() {
    stop_ = true;
    acceptor_.join();
    for (Task& task : connections_)
        task.join();
    close(listener_);
}

std::string FakeServer::url() const {
    return fmt::format("http://127.0.0.1:{}", port_);
}

std::vector<FakeRequest> FakeServer::requests() {
    Monitor::Lock lock(monitor_);
    return requests_;
}

bool FakeServer::wait_readable(int socket) {
    while (!stop_) {
        pollfd one{socket, POLLIN, 0};
        if (poll(&one, 1, 5) > 0) return true;
    }
    return false;
}

void FakeServer::accept_all() {
    while (wait_readable(listener_)) {
        const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) continue;
        const int on = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connections_.push_back(ThreadExecutor::process().spawn("fake connection", [this, socket] {
            serve(socket);
            close(socket);
        }));
    }
}

void FakeServer::serve(int socket) {
    std::string text;
    std::vector<char> bytes(65536);
    while (wait_readable(socket)) {
        const ssize_t got = recv(socket, bytes.data(), bytes.size(), 0);
        if (got <= 0) return;
        text.append(bytes.data(), static_cast<std::size_t>(got));
        if (text.front() == '\x16') {  // greets in TLS, which we do not speak
            static_cast<void>(send(socket, FakeReply::raw("HTTP/1.1 400 Bad\r\n\r\n")));
            return;
        }
        FakeRequest request;
        while (take_request(text, request)) {
            {
                Monitor::Lock lock(monitor_);
                requests_.push_back(request);
            }
            if (!send(socket, handler_(request))) return;
        }
    }
}

bool FakeServer::send(int socket, const FakeReply& reply) {
    using Clock = std::chrono::steady_clock;
    for (const auto& piece : reply.pieces) {
        const auto until = Clock::now() + piece.wait;
        while (!stop_ && Clock::now() < until)
            usleep(1000);
        if (stop_) return false;
        std::size_t sent = 0;
        while (sent < piece.bytes.size()) {
            const ssize_t now =
                ::send(socket, piece.bytes.data() + sent, piece.bytes.size() - sent, MSG_NOSIGNAL);
            if (now <= 0) return false;
            sent += static_cast<std::size_t>(now);
        }
    }
    if (reply.reset) {
        const linger at_once{1, 0};
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    return !reply.close && !reply.reset;
}

std::string ollama_envelope(const std::string& content, const std::string& done_reason) {
    const Json body{{"model", "tiny"},
                    {"message", {{"role", "assistant"}, {"content", content}}},
                    {"done", true},
                    {"done_reason", done_reason}};
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string openai_envelope(const std::string& content, const std::string& finish_reason) {
    Json choice{{"index", 0}, {"finish_reason", finish_reason}};
    choice["message"] = {{"role", "assistant"}, {"content", content}};
    const Json body{{"object", "chat.completion"}, {"choices", Json::array({choice})}};
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ollama_models(const std::vector<std::string>& names) {
    Json list = Json::array();
    for (const auto& name : names)
        list.push_back({{"name", name}, {"model", name}});
    return Json{{"models", list}}.dump();
}

std::string openai_models(const std::vector<std::string>& names) {
    Json list = Json::array();
    for (const auto& name : names)
        list.push_back({{"id", name}, {"object", "model"}});
    return Json{{"object", "list"}, {"data", list}}.dump();
}

FakeServer::Handler ollama(FakeServer::Handler chat) {
    return [chat = std::move(chat)](const FakeRequest& request) {
        if (request.path == "/api/tags") return FakeReply::of(200, ollama_models({"tiny"}));
        if (request.path != "/api/chat") return FakeReply::of(404, R"({"error": "no route"})");
        if (is_warm_up(request, "options", "num_predict"))
            return FakeReply::of(200, ollama_envelope("Hello", "length"));
        return chat(request);
    };
}

FakeServer::Handler openai(FakeServer::Handler chat) {
    return [chat = std::move(chat)](const FakeRequest& request) {
        if (request.path == "/v1/models") return FakeReply::of(200, openai_models({"tiny"}));
        if (request.path != "/v1/chat/completions") return FakeReply::of(404, "{}");
        if (is_warm_up(request, nullptr, "max_tokens"))
            return FakeReply::of(200, openai_envelope("Hello", "length"));
        return chat(request);
    };
}

}  // namespace rudder::test
