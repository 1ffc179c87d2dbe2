// HTTP over libcurl's multi interface, whose poll another task can wake.
#include "http.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <mutex>

#include <curl/curl.h>
#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/text.hpp"

namespace rudder::steer {

namespace {

using Clock = HttpClient::Clock;

constexpr long connect_ms = 5000;  ///< to connect, at most
constexpr int poll_ms = 1000;      ///< between two looks at the clock, at most
/// A text that shows so many characters of the key in a row shows too much.
constexpr std::size_t key_piece = 6;

/// Milliseconds until then, rounded up; at least 0.
long millis_until(Clock::time_point when) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now()).count();
    return static_cast<long>(std::clamp<std::int64_t>(left, 0, 24L * 3600 * 1000));
}

struct FreeEasy {
    void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
struct FreeMulti {
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};
struct FreeList {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

List append(List list, const std::string& line) {
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    RUDDER_CHECK(longer != nullptr);
    static_cast<void>(list.release());
    return List(longer);
}

/// What arrives, as it arrives.
struct Arriving {
    HttpResponse response;
    bool too_large = false;
};

std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* to) {
    auto& arriving = *static_cast<Arriving*>(to);
    const std::size_t length = size * count;
    if (arriving.response.body.size() + length > HttpClient::most_bytes) {
        arriving.too_large = true;
        return 0;  // ends the transfer
    }
    arriving.response.body.append(bytes, length);
    return length;
}

std::string lower(std::string_view text) {
    std::string copy(text);
    for (char& c : copy)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return copy;
}

std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* to) {
    auto& response = static_cast<Arriving*>(to)->response;
    const std::string_view line(bytes, size * count);
    if (line.starts_with("HTTP/")) response.retry_after.reset();  // of an interim response
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && lower(line.substr(0, colon)) == "retry-after") {
        // Dates are not read: whoever sends one wants more patience than a decision has.
        if (const auto seconds = parse_u64(trimmed(line.substr(colon + 1)))) {
            response.retry_after = static_cast<double>(*seconds);
        }
    }
    return size * count;
}

HttpFault fault_of(CURLcode code) {
    switch (code) {
        case CURLE_OPERATION_TIMEDOUT:
            return HttpFault::deadline;
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_COULDNT_CONNECT:
            return HttpFault::unreachable;
        case CURLE_FILESIZE_EXCEEDED:
            return HttpFault::too_large;
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_CACERT_BADFILE:
            return HttpFault::tls;
        case CURLE_GOT_NOTHING:
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
        case CURLE_PARTIAL_FILE:
            return HttpFault::closed;
        default:
            return HttpFault::malformed;
    }
}

/// What became of a transfer that failed.
struct Failure {
    CURLcode code;
    std::string_view detail;  ///< the library's words; may be empty
    std::uint64_t came = 0;   ///< bytes of the body
};

std::string problem_of(HttpFault fault, const Failure& failure) {
    const CURLcode code = failure.code;
    const std::string_view said =
        failure.detail.empty() ? curl_easy_strerror(code) : failure.detail;
    switch (fault) {
        case HttpFault::none:
            return {};
        case HttpFault::cancelled:
            return "the request was cancelled";
        case HttpFault::deadline:
            if (failure.came == 0) return "the server did not answer in time";
            return fmt::format("the server did not answer in time: {} bytes came", failure.came);
        case HttpFault::too_large:
            return fmt::format("the server's response {} larger than {}",
                               code == CURLE_FILESIZE_EXCEEDED ? "says it is" : "is",
                               format_bytes(HttpClient::most_bytes));
        case HttpFault::unreachable:
            return fmt::format("the server cannot be reached: {}", curl_easy_strerror(code));
        case HttpFault::tls:
            return fmt::format("no trusted connection to the server: {}", curl_easy_strerror(code));
        case HttpFault::closed:
            if (code == CURLE_GOT_NOTHING) return "the server closed the connection unanswered";
            if (code == CURLE_PARTIAL_FILE) {
                return fmt::format("the server's response was cut after {} bytes: {}", failure.came,
                                   said);
            }
            return fmt::format("the connection to the server broke after {} bytes: {}",
                               failure.came, said);
        case HttpFault::malformed:
            break;
    }
    return fmt::format("invalid response of the server: not HTTP: {}", said);
}

/// The library wants to be started once, before other threads use it.
void start_library() {
    static std::once_flag once;
    std::call_once(once, [] { RUDDER_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
}

}  // namespace

struct HttpClient::State {
    Endpoint endpoint;
    std::string key;
    std::unique_ptr<CURLM, FreeMulti> multi{curl_multi_init()};
    std::unique_ptr<CURL, FreeEasy> easy{curl_easy_init()};
    List headers;
    std::atomic<bool> cancelled{false};
    std::array<char, CURL_ERROR_SIZE> detail{};  ///< of the last failure

    void prepare(const std::string& url, const std::string* body, Clock::time_point deadline,
                 Arriving& arriving);
    CURLcode run(Clock::time_point deadline);
    HttpResponse send(const std::string& path, const std::string* body, Clock::time_point deadline);
};

HttpClient::HttpClient(Endpoint endpoint, std::string key) {
    start_library();
    state_ = std::make_unique<State>();
    state_->endpoint = std::move(endpoint);
    state_->key = std::move(key);
    RUDDER_CHECK(state_->multi != nullptr && state_->easy != nullptr);
    List list = append({}, "Content-Type: application/json");
    list = append(std::move(list), "Accept: application/json");
    list = append(std::move(list), "Expect:");  // no round trip before the body
    if (!state_->key.empty()) {
        list = append(std::move(list), "Authorization: Bearer " + state_->key);
    }
    state_->headers = std::move(list);
}

HttpClient::~HttpClient() = default;

void HttpClient::State::prepare(const std::string& url, const std::string* body,
                                Clock::time_point deadline, Arriving& arriving) {
    CURL* e = easy.get();
    curl_easy_reset(e);  // connections stay open
    const long left = std::max(1L, millis_until(deadline));
    detail[0] = '\0';
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, detail.data());
    curl_easy_setopt(e, CURLOPT_URL, url.c_str());
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, endpoint.tls ? "https" : "http");
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, left);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, std::min(left, connect_ms));
    curl_easy_setopt(e, CURLOPT_MAXFILESIZE, static_cast<long>(most_bytes));
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, &take_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, &arriving);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, &take_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, &arriving);
    // This machine is reached directly, whatever proxy the environment names.
    if (endpoint.loopback) curl_easy_setopt(e, CURLOPT_NOPROXY, "*");
    if (body != nullptr) {
        curl_easy_setopt(e, CURLOPT_POST, 1L);
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, body->data());
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    }
}

CURLcode HttpClient::State::run(Clock::time_point deadline) {
    int running = 1;
    while (!cancelled.load(std::memory_order_acquire)) {
        if (curl_multi_perform(multi.get(), &running) != CURLM_OK) return CURLE_FAILED_INIT;
        if (running == 0) break;
        const long left = millis_until(deadline);
        if (left == 0) return CURLE_OPERATION_TIMEDOUT;
        const int wait = static_cast<int>(std::min<long>(left, poll_ms));
        if (curl_multi_poll(multi.get(), nullptr, 0, wait, nullptr) != CURLM_OK)
            return CURLE_FAILED_INIT;
    }
    int queued = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &queued)) {
        if (message->msg == CURLMSG_DONE) return message->data.result;
    }
    return CURLE_ABORTED_BY_CALLBACK;
}

HttpResponse HttpClient::State::send(const std::string& path, const std::string* body,
                                     Clock::time_point deadline) {
    Arriving arriving;
    HttpResponse& response = arriving.response;
    const std::string url = endpoint.base + path;
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    if (!cancelled.load(std::memory_order_acquire)) {
        prepare(url, body, deadline, arriving);
        RUDDER_CHECK(curl_multi_add_handle(multi.get(), easy.get()) == CURLM_OK);
        code = run(deadline);
        curl_multi_remove_handle(multi.get(), easy.get());
    }
    if (code != CURLE_OK) {
        response.fault = cancelled.load(std::memory_order_acquire) ? HttpFault::cancelled
                         : arriving.too_large                      ? HttpFault::too_large
                                                                   : fault_of(code);
        response.problem = problem_of(response.fault, {code, detail.data(), response.body.size()});
        response.body.clear();
        return std::move(response);
    }
    long status = 0;
    const char* type = nullptr;
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy.get(), CURLINFO_CONTENT_TYPE, &type);
    response.status = static_cast<int>(status);
    const std::string_view full = type == nullptr ? "" : type;
    response.content_type = lower(trimmed(full.substr(0, full.find(';'))));
    return std::move(response);
}

HttpResponse HttpClient::get(const std::string& path, Clock::time_point deadline) {
    return state_->send(path, nullptr, deadline);
}

HttpResponse HttpClient::post(const std::string& path, const std::string& json,
                              Clock::time_point deadline) {
    return state_->send(path, &json, deadline);
}

bool HttpClient::rest(Clock::time_point until) {
    while (!cancelled()) {
        const long left = millis_until(until);
        if (left == 0) return true;
        curl_multi_poll(state_->multi.get(), nullptr, 0,
                        static_cast<int>(std::min<long>(left, poll_ms)), nullptr);
    }
    return false;
}

void HttpClient::cancel() noexcept {
    state_->cancelled.store(true, std::memory_order_release);
    curl_multi_wakeup(state_->multi.get());
}

bool HttpClient::cancelled() const noexcept {
    return state_->cancelled.load(std::memory_order_acquire);
}

const Endpoint& HttpClient::endpoint() const noexcept {
    return state_->endpoint;
}

bool HttpClient::reveals_key(std::string_view text) const {
    const std::string& key = state_->key;
    if (key.empty()) return false;
    if (key.size() < key_piece) return text.find(key) != std::string_view::npos;
    for (std::size_t at = 0; at + key_piece <= key.size(); ++at) {
        if (text.find(std::string_view(key).substr(at, key_piece)) != std::string_view::npos)
            return true;
    }
    return false;
}

}  // namespace rudder::steer
