// llm[:MODEL]: a language model behind a server decides.
#include <array>

#include <fmt/format.h>

#include "core/executor/monitor.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "rudder/core/error.hpp"
#include "steer/llm/chat.hpp"
#include "steer/llm/faithful.hpp"
#include "steer/llm/prompt.hpp"
#include "steer/llm/reply.hpp"

#include "agents.hpp"

namespace rudder::steer {

namespace {

using Clock = HttpClient::Clock;
using Kind = ParameterKind;

constexpr std::array<std::string_view, 3> apis{"auto", "openai", "ollama"};

constexpr std::array<SpecParameter, 12> llm_parameters{{
    {"model", Kind::word, 0, 0, std::nullopt, "name of the model; not given: --llm-model"},
    {"url", Kind::word, 0, 0, std::nullopt, "address of the server; not given: --llm-url"},
    {.name = "api",
     .kind = Kind::word,
     .help = "protocol of the server: auto, openai or ollama; not given: --llm-api",
     .words = apis},
    {"temperature", Kind::real, 0, 2, 0, "sampling temperature"},
    {"seed", Kind::whole, 0, 2147483647, 0, "sampling seed"},
    {"context", Kind::whole, 512, 1048576, 8192, "context length: tokens of prompt and reply"},
    {"tokens", Kind::whole, 16, 8192, 256, "largest number of tokens in a reply"},
    {"history", Kind::whole, 0, 1000, 5, "largest number of past decisions in the prompt"},
    {"deadline", Kind::real, 0.01, 3600, 20, "timeout of a reply in seconds, retries included"},
    {"interval", Kind::whole, 1, 1000000, 16, "steps between two questions"},
    {"insecure", Kind::flag, 0, 0, std::nullopt, "allow a server on another machine without TLS"},
    {"faithful", Kind::flag, 0, 0, std::nullopt,
     "use the published protocol, answered by yes or no"},
}};

/// A model may have to be loaded first; training does not wait for it.
constexpr std::chrono::seconds warm_up_limit{300};
/// Of a prompt that can still say something.
constexpr std::uint64_t least_room = 512;
constexpr std::size_t quoted_reply = 2000;

LlmOptions options_of(const AgentSpec& spec, const AgentFacts& facts) {
    LlmOptions options = facts.llm;
    if (spec.given("model")) options.model = spec.text("model");
    if (spec.given("api")) options.api = llm_api(spec.text("api"), "--agent");
    if (spec.given("insecure")) options.insecure = true;
    if (spec.given("url")) {
        options.url = spec.text("url");
        static_cast<void>(Endpoint::parse(options.url, options.insecure, "--agent"));
    }
    return options;
}

ChatSettings settings_of(const AgentSpec& spec) {
    return {.temperature = spec.number("temperature"),
            .seed = spec.whole("seed"),
            .context = spec.whole("context"),
            .tokens = spec.whole("tokens")};
}

Clock::time_point in_seconds(double seconds) {
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

class LlmAgent final : public Agent {
public:
    LlmAgent(const AgentSpec& spec, const AgentFacts& facts);
    ~LlmAgent() override;

    [[nodiscard]] std::uint64_t interval() const noexcept override { return interval_; }
    [[nodiscard]] Answer decide(const Observation& observation) override;
    void cancel() noexcept override { server_.cancel(); }
    [[nodiscard]] std::string learned() const override;

private:
    void start_warm_up();
    void wait_until_warm(Clock::time_point deadline);
    [[nodiscard]] std::vector<ChatMessage> messages(const Observation& observation,
                                                    const Json& schema);
    [[nodiscard]] Answer ask(const Observation& observation, Clock::time_point deadline);
    [[nodiscard]] Answer read(const std::string& text, const Json& schema,
                              const Observation& observation);

    AgentFacts facts_;
    ChatSettings settings_;
    ChatServer server_;
    std::uint64_t history_;
    std::uint64_t interval_;
    double deadline_;
    std::string system_;
    std::optional<PublishedProtocol> published_;
    std::string problem_;  ///< why the last question had no answer; told once

    std::uint64_t asked_ = 0;
    std::uint64_t answered_ = 0;
    double seconds_ = 0;

    Monitor monitor_;
    bool warm_ = true;  ///< no warm-up is under way
    Task warm_up_;
};

LlmAgent::LlmAgent(const AgentSpec& spec, const AgentFacts& facts)
    : facts_(facts),
      settings_(settings_of(spec)),
      server_(options_of(spec, facts), llm_key_from_environment(), settings_),
      history_(spec.whole("history")),
      interval_(spec.whole("interval")),
      deadline_(spec.number("deadline")) {
    if (spec.given("faithful")) {
        published_.emplace(facts);
        system_ = published_->system_message({});
    } else {
        system_ = system_message(facts);
    }
    const std::uint64_t used = estimated_tokens(system_) + settings_.tokens + least_room;
    if (used > settings_.context) {
        throw usage_error(
            fmt::format("a context of {} tokens is too short for the prompt", settings_.context),
            "--agent", fmt::format("give at least context:{}", used));
    }
    start_warm_up();
}

LlmAgent::~LlmAgent() {
    server_.cancel();
    warm_up_.settle();
}

void LlmAgent::start_warm_up() {
    Executor& executor = Executor::current();
    if (executor.simulated()) return;  // it would stop the simulation; the first question does it
    warm_ = false;
    warm_up_ = executor.spawn("llm warm-up", [this] {
        try {
            const std::array hello{ChatMessage{ChatRole::system, system_},
                                   ChatMessage{ChatRole::user, "Say hello."}};
            server_.warm_up(hello, Clock::now() + warm_up_limit);
        } catch (const Error& error) {
            // Training goes on, and each question tries again.
            if (!server_.cancelled()) {
                log::warning(fmt::format("the language model does not answer yet: {} ({}){}{}",
                                         error.problem(), error.where(),
                                         error.remedy().empty() ? "" : "; ", error.remedy()));
            }
        } catch (const std::exception& error) {
            log::warning(fmt::format("the language model's warm-up failed: {}", error.what()));
        }
        Monitor::Lock lock(monitor_);
        warm_ = true;
        monitor_.notify_all();
    });
}

void LlmAgent::wait_until_warm(Clock::time_point deadline) {
    const Duration left = std::max(deadline - Clock::now(), Clock::duration::zero());
    Monitor::Lock lock(monitor_);
    if (monitor_.wait_until(lock, "the language model's warm-up", Executor::current().now() + left,
                            [this] { return warm_; })) {
        return;
    }
    throw Error(ErrorKind::failed, "the server is still loading the model", "the warm-up", "");
}

std::vector<ChatMessage> LlmAgent::messages(const Observation& observation, const Json& schema) {
    if (published_ && asked_ == 1) system_ = published_->system_message(observation);
    const std::uint64_t tokens = room_for(system_, schema, settings_);
    std::string user = published_ ? published_->user_message(observation, tokens)
                                  : user_message(observation, history_, problem_, tokens);
    problem_.clear();
    return {{ChatRole::system, system_}, {ChatRole::user, std::move(user)}};
}

Answer LlmAgent::read(const std::string& text, const Json& schema, const Observation& observation) {
    const std::string where = "the reply of " + printable(server_.model(), 80);
    if (published_) return published_->parse(text, observation, where);
    ModelReply reply = parse_reply(text, schema, observation, where);
    Answer answer;
    answer.action = std::move(reply.action);
    answer.forecast = reply.forecast;
    return answer;
}

Answer LlmAgent::ask(const Observation& observation, Clock::time_point deadline) {
    const Json schema =
        published_ ? PublishedProtocol::schema() : reply_schema(observation, facts_.built_in);
    auto prompt = messages(observation, schema);
    std::string text = server_.chat(prompt, schema, deadline);
    try {
        try {
            return read(text, schema, observation);
        } catch (const Error& error) {
            // A server that holds its model to nothing may ask it once more.
            if (server_.form() != ReplyForm::plain) throw;
            prompt.push_back({ChatRole::assistant, printable(text, quoted_reply)});
            prompt.push_back({ChatRole::user, fmt::format("That cannot be used: {}. Send the JSON "
                                                          "object alone.",
                                                          error.problem())});
        }
        text = server_.chat(prompt, schema, deadline);
        return read(text, schema, observation);
    } catch (const Error&) {
        if (published_) published_->failed(observation);
        throw;
    }
}

Answer LlmAgent::decide(const Observation& observation) {
    const Clock::time_point start = Clock::now();
    const Clock::time_point deadline = in_seconds(deadline_);
    ++asked_;
    try {
        wait_until_warm(deadline);
        Answer answer = ask(observation, deadline);
        ++answered_;
        seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
        return answer;
    } catch (const Error& error) {
        problem_ = error.problem();
        throw;
    }
}

std::string LlmAgent::learned() const {
    if (asked_ == 0) return {};
    return fmt::format("{} ({}) was asked {} times and answered {}, in {:.3g} s on average",
                       printable(server_.model(), 80), to_string(server_.api()), asked_, answered_,
                       answered_ == 0 ? 0 : seconds_ / static_cast<double>(answered_));
}

}  // namespace

const AgentInfo llm_info{
    {"llm", "Asks a language model, which sees past decisions and their measured effects.",
     llm_parameters, SpecValue::optional},
    "a server: Ollama, llama.cpp, vLLM or anything OpenAI-compatible",
    "a reply of the model; under 1 ms here",
    /*decides=*/true};

std::unique_ptr<Agent> make_llm(const AgentSpec& spec, const AgentFacts& facts) {
    return std::make_unique<LlmAgent>(spec, facts);
}

}  // namespace rudder::steer
