// llm[:MODEL]: a language model decides, behind a server or in this process.
#include <array>

#include <fmt/format.h>

#include "core/build_parts.hpp"
#include "core/cpu_meter.hpp"
#include "core/executor/monitor.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "rudder/core/error.hpp"
#include "steer/llm/chat.hpp"
#include "steer/llm/faithful.hpp"
#include "steer/llm/known_effects.hpp"
#include "steer/llm/local/built_in_model.hpp"
#include "steer/llm/local/local_model.hpp"
#include "steer/llm/prompt.hpp"
#include "steer/llm/question_pace.hpp"
#include "steer/llm/reply.hpp"

#include "agents.hpp"

namespace rudder::steer {

namespace {

using Clock = HttpClient::Clock;
using Kind = ParameterKind;

constexpr std::array<std::string_view, 3> apis{"auto", "openai", "ollama"};

constexpr std::array<SpecParameter, 15> llm_parameters{{
    {"model", Kind::word, 0, 0, std::nullopt,
     "name of the model, or built-in; not given: --llm-model"},
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
    {"file", Kind::file, 0, 0, std::nullopt, "model file to run in this process, without a server"},
    {.name = "share",
     .kind = Kind::real,
     .minimum = 0,
     .maximum = 1,
     .fallback = 0.02,
     .help = "in this process: largest CPU time of answers and shadows, of the run's time",
     .above_minimum = true},
    {"shadows", Kind::whole, 0, 7, 7, "number of policies that run on shadows, for the prompt"},
}};

/// A model may have to be loaded first; training does not wait for it.
constexpr std::chrono::seconds warm_up_limit{300};
/// For Ollama on this machine to say that it is there.
constexpr std::chrono::seconds look_limit{1};
/// Of a prompt that can still say something.
constexpr std::uint64_t least_room = 512;
constexpr std::size_t quoted_reply = 2000;
/// Tokens around the messages, at most.
constexpr std::uint64_t most_frame = 16;

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

/// The model that is asked for; empty: any.
std::string wanted_model(const AgentSpec& spec, const LlmOptions& run) {
    return spec.given("model") ? spec.text("model") : run.model;
}

/// What only a server has, beside its model, as it was given; empty: nothing.
std::string server_only(const AgentSpec& spec, const LlmOptions& run) {
    for (const char* key : {"url", "api", "insecure", "seed"})
        if (spec.given(key)) return key;
    if (spec.number("temperature") > 0) return "temperature";
    if (!run.url.empty()) return "--llm-url";
    if (run.api != LlmApi::automatic) return "--llm-api";
    return run.insecure ? "--llm-insecure" : "";
}

/// A model that runs here, as `what` says, takes nothing of it.
void refuse_server_options(const std::string& option, const char* what) {
    if (option.empty()) return;
    throw usage_error(fmt::format("'{}' is for servers, and '{}' runs without one", option, what),
                      "--agent", fmt::format("leave out '{}' or '{}'", option, what));
}

void check_reply_tokens(const AgentSpec& spec, const AgentFacts& facts) {
    Observation first;
    first.setting = facts.start;
    first.limits = facts.limits;
    const std::uint64_t least = LocalModel::least_tokens(
        spec.given("faithful") ? PublishedProtocol::schema() : reply_schema(first, facts.built_in));
    if (spec.whole("tokens") >= least) return;
    throw usage_error(
        fmt::format("invalid tokens: {}, a reply may need {}", spec.whole("tokens"), least),
        "--agent", fmt::format("give at least tokens:{}", least));
}

/// A model of this process. One that nobody asked for takes what context it has.
std::unique_ptr<ChatModel> local_model(SteeringModel read, const AgentSpec& spec,
                                       const AgentFacts& facts, bool named) {
    const std::uint64_t context = spec.given("context") ? spec.whole("context") : 0;
    auto model = std::make_unique<LocalModel>(std::move(read), context, spec.whole("tokens"));
    if (named && context > model->context()) {
        throw usage_error(
            fmt::format("invalid context: {}, above the model's {}", context, model->context()),
            "--agent", "leave out 'context'");
    }
    check_reply_tokens(spec, facts);
    return model;
}

std::unique_ptr<ChatModel> model_of_file(const AgentSpec& spec, const AgentFacts& facts) {
    std::string option = server_only(spec, facts.llm);
    if (!wanted_model(spec, facts.llm).empty())
        option = spec.given("model") ? "model" : "--llm-model";
    refuse_server_options(option, "file");
    return local_model(read_steering_model(std::filesystem::path(spec.text("file"))), spec, facts,
                       true);
}

std::unique_ptr<ChatServer> chat_server(const AgentSpec& spec, const AgentFacts& facts) {
    if (spec.given("share")) {
        throw usage_error("'share' is for models that run in this process", "--agent",
                          "leave it out, or use llm:built-in or 'file'");
    }
    return std::make_unique<ChatServer>(options_of(spec, facts), llm_key_from_environment(),
                                        settings_of(spec));
}

/// Ollama on this machine, if it answers.
std::unique_ptr<ChatModel> ollama_here(const AgentSpec& spec, const AgentFacts& facts) {
    if (spec.given("share") || Executor::current().simulated() || !rudder::built_in("libcurl"))
        return nullptr;
    std::unique_ptr<ChatServer> server = chat_server(spec, facts);
    if (!server->answers(Clock::now() + look_limit)) return nullptr;
    return server;
}

/// A model, and where it is.
struct ChosenModel {
    std::unique_ptr<ChatModel> model;
    bool here = false;   ///< in this process
    bool by_us = false;  ///< the built-in one, since no other was named or found
};

ChosenModel chosen_model(const AgentSpec& spec, const AgentFacts& facts) {
    if (spec.given("file")) return {model_of_file(spec, facts), true};
    const std::string name = wanted_model(spec, facts.llm);
    const std::string option = server_only(spec, facts.llm);
    if (name == built_in_model_name) {
        refuse_server_options(option, built_in_model_name);
        if (spec.given("faithful")) {
            throw usage_error("the built-in model does not speak the published protocol", "--agent",
                              "leave out 'faithful', or use a model behind a server");
        }
        return {local_model(built_in_model(), spec, facts, true), true};
    }
    if (!name.empty() || !option.empty() || spec.given("faithful"))
        return {chat_server(spec, facts)};
    if (auto server = ollama_here(spec, facts)) return {std::move(server)};
    return {local_model(built_in_model(), spec, facts, false), true, true};
}

Clock::time_point in_seconds(double seconds) {
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

class LlmAgent final : public Agent {
public:
    LlmAgent(const AgentSpec& spec, const AgentFacts& facts);
    ~LlmAgent() override;

    [[nodiscard]] std::uint64_t interval() const noexcept override {
        return pace_.interval(run_seconds(), shadow_seconds());
    }
    [[nodiscard]] Answer decide(const Observation& observation) override;
    void cancel() noexcept override { model_->cancel(); }
    [[nodiscard]] std::string learned() const override;

private:
    void start_warm_up();
    void wait_until_warm(Clock::time_point deadline);
    [[nodiscard]] std::vector<ChatMessage> messages(const Observation& observation,
                                                    const Json& schema);
    [[nodiscard]] Answer ask(const Observation& observation, Clock::time_point deadline);
    [[nodiscard]] Answer read(const std::string& text, const Json& schema,
                              const Observation& observation);
    [[nodiscard]] Clock::time_point deadline() const;
    /// Another turn than asking.
    [[nodiscard]] Answer between(QuestionPace::Turn turn, const Observation& observation) const;
    [[nodiscard]] Answer question(const Observation& observation);
    [[nodiscard]] double run_seconds() const noexcept {
        return std::chrono::duration<double>(Clock::now() - start_).count();
    }
    /// CPU time of its own shadows.
    [[nodiscard]] double shadow_seconds() const noexcept {
        if (facts_.shadow_cpu == nullptr) return 0;
        return 1e-9 * static_cast<double>(facts_.shadow_cpu->load(std::memory_order_relaxed));
    }

    LlmAgent(const AgentSpec& spec, const AgentFacts& facts, ChosenModel chosen);

    AgentFacts facts_;
    std::unique_ptr<ChatModel> model_;
    bool here_;   ///< it runs in this process
    bool by_us_;  ///< since no other was named or found
    bool timed_;  ///< and is asked less often, and given up, by the clock
    std::uint64_t history_;
    std::uint64_t beside_;  ///< policies on shadows
    QuestionPace pace_;
    Clock::time_point start_ = Clock::now();
    double deadline_;
    std::string system_;
    std::optional<PublishedProtocol> published_;
    std::string problem_;  ///< why the last question had no answer; told once

    std::uint64_t asked_ = 0;
    std::uint64_t answered_ = 0;
    std::uint64_t left_out_ = 0;  ///< past decisions that prompts had no room for
    double seconds_ = 0;

    Monitor monitor_;
    bool warm_ = true;  ///< no warm-up is under way
    Task warm_up_;
};

LlmAgent::LlmAgent(const AgentSpec& spec, const AgentFacts& facts)
    : LlmAgent(spec, facts, chosen_model(spec, facts)) {}

LlmAgent::LlmAgent(const AgentSpec& spec, const AgentFacts& facts, ChosenModel chosen)
    : facts_(facts),
      model_(std::move(chosen.model)),
      here_(chosen.here),
      by_us_(chosen.by_us),
      timed_(here_ && !facts.repeatable && !Executor::current().simulated()),
      history_(spec.whole("history")),
      beside_(spec.whole("shadows")),
      pace_(spec.whole("interval"), timed_ ? spec.number("share") : 1,
            beside_ > 0 && !spec.given("faithful")),
      deadline_(spec.number("deadline")) {
    if (spec.given("faithful")) {
        published_.emplace(facts);
        system_ = published_->system_message({});
    } else {
        system_ = system_message(facts);
    }
    const std::uint64_t room = model_->room(system_, Json::object());
    if (room < least_room) {
        const std::uint64_t used =
            model_->tokens(system_) + spec.whole("tokens") + least_room + most_frame;
        throw usage_error(
            fmt::format("a context of {} tokens is too short for the prompt", model_->context()),
            "--agent",
            here_ ? fmt::format("use a model with a context of at least {}", used)
                  : fmt::format("give at least context:{}", used));
    }
    if (model_->loads_elsewhere()) start_warm_up();
}

LlmAgent::~LlmAgent() {
    model_->cancel();
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
            model_->warm_up(hello, Clock::now() + warm_up_limit);
        } catch (const Error& error) {
            // Training goes on, and each question tries again.
            if (!model_->cancelled()) {
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
    const TokenBudget budget{model_->room(system_, schema),
                             [this](std::string_view text) { return model_->tokens(text); }};
    FittedMessage user = published_ ? published_->user_message(observation, budget)
                                    : user_message(observation, history_, problem_, budget);
    problem_.clear();
    left_out_ += user.left_out;
    return {{ChatRole::system, system_}, {ChatRole::user, std::move(user.text)}};
}

Answer LlmAgent::read(const std::string& text, const Json& schema, const Observation& observation) {
    const std::string where = "the reply of " + printable(model_->name(), 80);
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
    std::string text = model_->chat(prompt, schema, deadline);
    try {
        try {
            return read(text, schema, observation);
        } catch (const Error& error) {
            if (!model_->worth_repeating()) throw;
            prompt.push_back({ChatRole::assistant, printable(text, quoted_reply)});
            prompt.push_back({ChatRole::user, fmt::format("That cannot be used: {}. Send the JSON "
                                                          "object alone.",
                                                          error.problem())});
        }
        text = model_->chat(prompt, schema, deadline);
        return read(text, schema, observation);
    } catch (const Error&) {
        if (published_) published_->failed(observation);
        throw;
    }
}

Clock::time_point LlmAgent::deadline() const {
    if (here_ && !timed_) return Clock::time_point::max();
    return in_seconds(deadline_);
}

/// Shadows that an agent has, to be closed.
std::vector<ShadowOrder> without_shadows(const Observation& seen) {
    std::vector<ShadowOrder> orders;
    for (const ShadowReading& shadow : seen.shadows)
        orders.push_back({ShadowOrder::Kind::close, shadow.name});
    return orders;
}

Answer LlmAgent::between(QuestionPace::Turn turn, const Observation& observation) const {
    Answer answer;
    answer.action = Action::keep();
    if (turn == QuestionPace::Turn::rest) {
        answer.shadows = without_shadows(observation);
        answer.note = "no question: its shadows have taken the CPU time for it";
    } else {
        answer.shadows = policies_beside(observation, facts_.built_in, beside_);
        answer.note =
            turn == QuestionPace::Turn::begin ? "its shadows begin" : "its shadows find their feet";
    }
    return answer;
}

Answer LlmAgent::question(const Observation& observation) {
    const Clock::time_point start = Clock::now();
    ++asked_;
    try {
        const Clock::time_point until = deadline();
        if (!here_) wait_until_warm(until);
        Answer answer = ask(observation, until);
        ++answered_;
        seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
        return answer;
    } catch (const Error& error) {
        problem_ = error.problem();
        throw;
    }
}

Answer LlmAgent::decide(const Observation& observation) {
    const std::uint64_t before = thread_cpu_nanoseconds();
    const auto taken = [&] {
        return 1e-9 * static_cast<double>(thread_cpu_nanoseconds() - before);
    };
    const QuestionPace::Turn turn = pace_.turn(run_seconds(), shadow_seconds());
    if (turn != QuestionPace::Turn::ask) {
        Answer answer = between(turn, observation);
        pace_.add(taken());
        return answer;
    }
    try {
        Answer answer = question(observation);
        pace_.answered(taken());
        if (pace_.rests(run_seconds(), shadow_seconds())) {
            answer.shadows = without_shadows(observation);
        } else if (!published_) {
            answer.shadows = policies_beside(observation, facts_.built_in, beside_);
        }
        return answer;
    } catch (const Error&) {
        pace_.answered(taken());
        throw;
    }
}

std::string LlmAgent::learned() const {
    if (asked_ == 0) return {};
    std::string text =
        fmt::format("{} ({}) was asked {} times and answered {}, in {:.3g} s on average",
                    printable(model_->name(), 80),
                    model_->kind() + (by_us_ ? ", no server was named or found" : ""), asked_,
                    answered_, answered_ == 0 ? 0 : seconds_ / static_cast<double>(answered_));
    if (const std::string work = model_->work(); !work.empty()) text += "; " + work;
    if (left_out_ != 0) {
        text += fmt::format("; {} past decisions did not fit into its context of {} tokens",
                            left_out_, model_->context());
    }
    return text;
}

}  // namespace

const AgentInfo llm_info{
    {"llm", "Asks a language model, which sees past decisions and their measured effects.",
     llm_parameters, SpecValue::optional},
    "nothing: it has a model of its own; or a server (Ollama, llama.cpp, vLLM or anything "
    "OpenAI-compatible), or a model file",
    "a reply of the model; under 1 ms here with a server; and up to 7 shadows",
    /*decides=*/true};

std::unique_ptr<Agent> make_llm(const AgentSpec& spec, const AgentFacts& facts) {
    return std::make_unique<LlmAgent>(spec, facts);
}

}  // namespace rudder::steer
