// A server of our own over real sockets, for tests: scripted replies, delays and faults.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/executor/executor.hpp"
#include "core/executor/monitor.hpp"

namespace rudder::test {

struct FakeRequest {
    std::string method;
    std::string path;
    std::map<std::string, std::string> headers;  ///< names in lower case
    std::string body;
};

/// Bytes to send, piece by piece.
struct FakeReply {
    struct Piece {
        std::chrono::milliseconds wait{0};  ///< before it is sent
        std::string bytes;
    };
    std::vector<Piece> pieces;
    bool close = false;  ///< the connection afterwards
    bool reset = false;  ///< close it with a reset

    /// A whole response.
    [[nodiscard]] static FakeReply of(int status, const std::string& body,
                                      const std::string& type = "application/json",
                                      const std::string& headers = {});
    [[nodiscard]] static FakeReply raw(std::string bytes, bool close = true);
};

class FakeServer {
public:
    using Handler = std::function<FakeReply(const FakeRequest&)>;

    /// Listens on a port of the loopback interface and answers with what the handler says, which is
    /// called from several tasks.
    explicit FakeServer(Handler handler);
    ~FakeServer();
    FakeServer(const FakeServer&) = delete;
    FakeServer& operator=(const FakeServer&) = delete;

    [[nodiscard]] std::string url() const;
    [[nodiscard]] std::vector<FakeRequest> requests();

private:
    void accept_all();
    void serve(int socket);
    bool send(int socket, const FakeReply& reply);
    bool wait_readable(int socket);

    Handler handler_;
    int listener_;
    int port_ = 0;
    std::atomic<bool> stop_{false};
    Monitor monitor_;
    std::vector<FakeRequest> requests_;
    std::vector<Task> connections_;
    Task acceptor_;
};

/// A reply of the model in each protocol's envelope, as the body of a response.
[[nodiscard]] std::string ollama_envelope(const std::string& content,
                                          const std::string& done_reason = "stop");
[[nodiscard]] std::string openai_envelope(const std::string& content,
                                          const std::string& finish_reason = "stop");
[[nodiscard]] std::string ollama_models(const std::vector<std::string>& names);
[[nodiscard]] std::string openai_models(const std::vector<std::string>& names);

/// A handler that speaks one protocol properly: lists a model, is ready for the warm-up, and has
/// `chat` answer all else.
[[nodiscard]] FakeServer::Handler ollama(FakeServer::Handler chat);
[[nodiscard]] FakeServer::Handler openai(FakeServer::Handler chat);

}  // namespace rudder::test
