// Requests with their retries, the way down from schemas to plain replies, and who the server is.
#include "chat.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"

#include "prompt.hpp"
#include "protocol.hpp"

namespace rudder::steer {

namespace {

using Clock = HttpClient::Clock;

constexpr std::uint32_t most_tries = 4;
constexpr double first_retry_pause = 0.1;  ///< seconds; doubles

/// Whether the same request may do better in a moment.
bool worth_another_try(const HttpResponse& response) {
    if (response.fault == HttpFault::unreachable || response.fault == HttpFault::closed)
        return true;
    return response.fault == HttpFault::none &&
           (response.status == 429 || (response.status >= 500 && response.status != 501));
}

/// Whether the server may dislike the form that was asked for, not the rest of the request.
bool may_be_the_form(const HttpResponse& response) {
    const int s = response.status;
    return response.fault == HttpFault::none && (s == 400 || s == 415 || s == 422 || s == 501);
}

Endpoint endpoint_of(const LlmOptions& options) {
    return Endpoint::parse(options.url.empty() ? LlmOptions::default_url : options.url,
                           options.insecure);
}

/// A key never travels to another machine in the clear.
std::string sent_key(const LlmOptions& options, std::string key) {
    const Endpoint endpoint = endpoint_of(options);
    return endpoint.tls || endpoint.loopback ? std::move(key) : std::string{};
}

struct Explained {
    std::string problem;
    std::string remedy;
};

Explained explain(int status) {
    if (status >= 300 && status < 400) {
        return {"the server sends us elsewhere, which is not followed",
                "give the address it moved to"};
    }
    switch (status) {
        case 400:
        case 422:
            return {"the server does not understand the request", ""};
        case 401:
        case 403:
            return {"the server refuses us", "set RUDDER_LLM_KEY to its key in the environment"};
        case 404:
            return {"the server knows no such route or model",
                    "check --llm-url and --llm-model; with Ollama: ollama pull MODEL"};
        case 413:
            return {"the request is too large for the server", "lower context:N or history:N"};
        case 429:
            return {"the server has had too many requests", "raise interval:N"};
        case 503:
            return {"the server is busy or still loading its model", ""};
        default:
            break;
    }
    return {status >= 500 ? "the server failed" : "the server answered otherwise than with 200",
            ""};
}

}  // namespace

struct ChatServer::State {
    LlmOptions options;
    ChatSettings settings;
    HttpClient client;
    LlmApi api;
    std::string model;
    ReplyForm form = ReplyForm::schema;
    std::uint64_t pauses = 0;

    State(const LlmOptions& given, std::string key, const ChatSettings& chat)
        : options(given),
          settings(chat),
          client(endpoint_of(given), sent_key(given, std::move(key))),
          api(given.api),
          model(given.model) {
        if (api == LlmApi::automatic && client.endpoint().versioned) api = LlmApi::openai;
    }

    [[nodiscard]] std::string where(std::string_view route) const {
        return client.endpoint().base + std::string(route);
    }
    /// Up to twice `base`, never the same for two processes.
    double pause(std::uint32_t tries) {
        const auto pid = static_cast<std::uint32_t>(getpid());
        const auto draw = Philox::block({static_cast<std::uint32_t>(pauses++), tries, pid, 0},
                                        {static_cast<std::uint32_t>(settings.seed), 0x4C6C6DU});
        return first_retry_pause * static_cast<double>(1U << tries) *
               (0.5 + static_cast<double>(draw[0]) * 0x1.0p-32);
    }
    HttpResponse exchange(std::string_view route, const std::string* body,
                          Clock::time_point deadline);
    /// The JSON of a response that must be one with status 200.
    Json json_of(const HttpResponse& response, std::string_view route) const;
    [[nodiscard]] Error failure(const HttpResponse& response, std::string_view route) const;
    bool try_api(LlmApi candidate, Clock::time_point deadline);
    HttpResponse ask(std::span<const ChatMessage> messages, const Json& schema, ReplyForm how,
                     Clock::time_point deadline);
};

HttpResponse ChatServer::State::exchange(std::string_view route, const std::string* body,
                                         Clock::time_point deadline) {
    const std::string path(route);
    for (std::uint32_t tries = 0;; ++tries) {
        HttpResponse response =
            body == nullptr ? client.get(path, deadline) : client.post(path, *body, deadline);
        if (!worth_another_try(response) || tries + 1 == most_tries) return response;
        // A server that asks for more patience than there is will not be asked again.
        const double wait = response.retry_after.value_or(pause(tries));
        const std::chrono::duration<double> left = deadline - Clock::now();
        if (wait >= left.count()) return response;
        const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(wait));
        if (!client.rest(until)) return client.get(path, deadline);  // says that it was cancelled
    }
}

Error ChatServer::State::failure(const HttpResponse& response, std::string_view route) const {
    if (response.fault != HttpFault::none) {
        return {ErrorKind::failed, response.problem, where(route),
                response.fault == HttpFault::unreachable
                    ? "start it (ollama serve), or give its address with --llm-url"
                    : ""};
    }
    auto [problem, remedy] = explain(response.status);
    const bool may_quote = response.status != 401 && response.status != 403;
    const std::string says = may_quote ? server_says(response.body) : std::string{};
    if (!says.empty() && !client.reveals_key(says))
        remedy += fmt::format("{}the server says: {}", remedy.empty() ? "" : "; ", says);
    return {ErrorKind::failed, fmt::format("{} (HTTP {})", problem, response.status), where(route),
            remedy};
}

Json ChatServer::State::json_of(const HttpResponse& response, std::string_view route) const {
    if (response.fault != HttpFault::none || response.status != 200) throw failure(response, route);
    // What a model says goes into logs, so that nothing with the key in it is taken.
    const auto refuse_key = [&](std::string_view text) {
        if (!client.reveals_key(text)) return;
        throw Error(ErrorKind::failed, "the server's response quotes our key, and is not used",
                    where(route), "use a server that does not");
    };
    refuse_key(response.body);
    refuse_key(response.content_type);
    if (response.content_type != "application/json") {
        throw Error(ErrorKind::failed,
                    fmt::format("the server's response is of type '{}', not application/json",
                                printable(response.content_type, 40)),
                    where(route), "check --llm-url");
    }
    Json json =
        parse_reply_json(response.body, "invalid response of the server: not JSON", where(route));
    refuse_key(json.dump());  // where escapes have hidden it
    return json;
}

bool ChatServer::State::try_api(LlmApi candidate, Clock::time_point deadline) {
    const std::string_view route = models_route(candidate);
    const HttpResponse response = exchange(route, nullptr, deadline);
    const bool other = response.fault == HttpFault::none &&
                       (response.status != 200 || response.content_type != "application/json");
    if (other && options.api == LlmApi::automatic && candidate == LlmApi::ollama) return false;
    const auto names = listed_models(candidate, json_of(response, route));
    if (!names) {
        if (candidate == LlmApi::ollama && options.api == LlmApi::automatic) return false;
        throw Error(ErrorKind::failed, "invalid response of the server: not a list of models",
                    where(route), "check --llm-url and --llm-api");
    }
    if (model.empty() && names->empty()) {
        throw Error(ErrorKind::failed, "the server has no model", where(route),
                    "load one; with Ollama: ollama pull llama3.2");
    }
    if (model.empty()) model = names->front();
    api = candidate;
    return true;
}

ChatServer::ChatServer(const LlmOptions& options, std::string key, const ChatSettings& settings)
    : state_(std::make_unique<State>(options, std::move(key), settings)) {}
ChatServer::~ChatServer() = default;

void ChatServer::connect(Clock::time_point deadline) {
    State& s = *state_;
    if (s.api != LlmApi::automatic && !s.model.empty()) return;
    if (s.api != LlmApi::automatic) {
        static_cast<void>(s.try_api(s.api, deadline));
        return;
    }
    if (!s.try_api(LlmApi::ollama, deadline))
        static_cast<void>(s.try_api(LlmApi::openai, deadline));
}

bool ChatServer::answers(Clock::time_point deadline) {
    const std::string route(models_route(LlmApi::ollama));
    if (state_->client.get(route, deadline).fault != HttpFault::none) return false;
    try {
        connect(deadline);
        return true;
    } catch (const Error&) {
        return false;
    }
}

HttpResponse ChatServer::State::ask(std::span<const ChatMessage> messages, const Json& schema,
                                    ReplyForm how, Clock::time_point deadline) {
    if (how == ReplyForm::schema) {
        const std::string body = chat_body(api, model, messages, &schema, how, settings);
        return exchange(chat_route(api), &body, deadline);
    }
    std::vector<ChatMessage> spelt(messages.begin(), messages.end());
    spelt.front().text +=
        "\n\nReply with one JSON object, and nothing else, that obeys this JSON "
        "schema:\n" +
        schema.dump();
    const std::string body = chat_body(api, model, spelt, &schema, how, settings);
    return exchange(chat_route(api), &body, deadline);
}

std::string ChatServer::chat(std::span<const ChatMessage> messages, const Json& schema,
                             Clock::time_point deadline) {
    State& s = *state_;
    connect(deadline);
    ReplyForm how = s.form;
    HttpResponse response = s.ask(messages, schema, how, deadline);
    while (may_be_the_form(response) && how != ReplyForm::plain) {
        how = how == ReplyForm::schema ? ReplyForm::object : ReplyForm::plain;
        response = s.ask(messages, schema, how, deadline);
    }
    const std::string_view route = chat_route(s.api);
    const Json json = s.json_of(response, route);
    s.form = how;  // it took that one
    return reply_text(s.api, json, s.settings, s.where(route));
}

void ChatServer::warm_up(std::span<const ChatMessage> messages, Clock::time_point deadline) {
    State& s = *state_;
    connect(deadline);
    ChatSettings one = s.settings;
    one.tokens = 1;
    const std::string_view route = chat_route(s.api);
    const std::string body = chat_body(s.api, s.model, messages, nullptr, ReplyForm::plain, one);
    static_cast<void>(s.json_of(s.exchange(route, &body, deadline), route));
}

void ChatServer::cancel() noexcept {
    state_->client.cancel();
}
bool ChatServer::cancelled() const noexcept {
    return state_->client.cancelled();
}
std::uint64_t ChatServer::tokens(std::string_view text) const {
    return estimated_tokens(text);
}
std::uint64_t ChatServer::context() const noexcept {
    return state_->settings.context;
}
std::uint64_t ChatServer::room(const std::string& first, const Json& schema) const {
    return room_for(first, schema, state_->settings);
}

LlmApi ChatServer::api() const noexcept {
    return state_->api;
}
const std::string& ChatServer::model() const noexcept {
    return state_->model;
}
ReplyForm ChatServer::form() const noexcept {
    return state_->form;
}
}  // namespace rudder::steer
