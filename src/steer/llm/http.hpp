// HTTP with limits: one request at a time, a deadline, a cap, and an end to it at once when asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rudder::steer {

/// A server's address, checked.
struct Endpoint {
    std::string base;  ///< "http://127.0.0.1:11434": no slash and no /v1 at its end
    bool tls = false;
    bool loopback = false;
    bool versioned = false;  ///< was given with /v1, as OpenAI-compatible servers are

    /// Reads a URL. A usage Error naming `where`: no URL, another scheme than http and https, a
    /// name or password inside, or another machine without TLS unless `insecure`.
    [[nodiscard]] static Endpoint parse(std::string_view url, bool insecure,
                                        const std::string& where = "--llm-url");
};

/// The key that servers ask for: RUDDER_LLM_KEY, else OPENAI_API_KEY; empty if neither is set. A
/// usage Error that does not show it where it could not be sent in a header.
[[nodiscard]] std::string llm_key_from_environment();

/// A text of somebody else's as one line for logs: printable ASCII without markup, at most `most`
/// characters.
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 160);

/// Why no response came.
enum class HttpFault : std::uint8_t {
    none,
    cancelled,
    deadline,
    unreachable,  ///< name not found or connection refused: worth another try
    closed,       ///< the connection broke: worth another try
    tls,
    too_large,
    malformed  ///< not HTTP
};

struct HttpResponse {
    HttpFault fault = HttpFault::none;
    std::string problem;  ///< with a fault: what happened; never holds the key
    int status = 0;
    std::string content_type;  ///< lower case, without parameters
    std::string body;
    std::optional<double> retry_after;  ///< seconds
};

/// Sends requests over connections it keeps open. Blocks the thread it is called on, in the
/// library's own poll: call it on a task of its own of the threaded executor. (On the seeded
/// executor it works, too, but no other task runs meanwhile and no virtual time passes.) One task
/// at a time may send or rest; `cancel` may be called from any.
class HttpClient {
public:
    using Clock = std::chrono::steady_clock;
    /// Bytes of a response's body, at most.
    static constexpr std::size_t most_bytes = std::size_t{1} << 20;

    /// `key` is sent as a bearer token; empty: none.
    HttpClient(Endpoint endpoint, std::string key);
    ~HttpClient();

    [[nodiscard]] HttpResponse get(const std::string& path, Clock::time_point deadline);
    /// Posts JSON.
    [[nodiscard]] HttpResponse post(const std::string& path, const std::string& json,
                                    Clock::time_point deadline);
    /// Waits until then; false if it was cancelled.
    bool rest(Clock::time_point until);
    /// Ends the present request, and every later one, at once.
    void cancel() noexcept;
    [[nodiscard]] bool cancelled() const noexcept;
    [[nodiscard]] const Endpoint& endpoint() const noexcept;
    /// Whether a text shows the key, or a piece of it.
    [[nodiscard]] bool reveals_key(std::string_view text) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::steer
