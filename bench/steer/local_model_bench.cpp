// What a decision of a model in this process takes: a question of 600 tokens behind a first message
// that was read before, and a reply, for models of several sizes; and decisions of the built-in
// model. CPU time of the one thread.
//
//     bench_steer_local_model                  all of that
//     bench_steer_local_model --prompts FILE   the built-in model alone, with 600 tokens behind the
//                                              first message; its prompts, with what each took by
//                                              the clock, go to FILE, for local_latency.py
#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/cpu_meter.hpp"
#include "core/json.hpp"
#include "steer/llm/local/built_in_model.hpp"
#include "steer/llm/local/local_model.hpp"
#include "steer/llm/local/random_model.hpp"
#include "steer/llm/prompt.hpp"
#include "steer/llm/reply.hpp"
#include "steer/llm/seen.hpp"

namespace {

using namespace rudder;
using namespace rudder::test;

constexpr std::size_t first_tokens = 600;
constexpr std::size_t question_tokens = 600;
constexpr std::size_t repeats = 7;
constexpr std::size_t decisions = 400;  ///< of the built-in model

double since(std::uint64_t start) {
    return 1e-9 * static_cast<double>(thread_cpu_nanoseconds() - start);
}

/// The value that so large a share lies below.
double quantile(std::vector<double> values, double share) {
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size()))];
}
double median(std::vector<double> values) {
    return quantile(std::move(values), 0.5);
}

/// Two products and a sum per weight and token, and those of attention.
double operations(const steer::ModelShape& shape, std::uint64_t parameters) {
    const auto count = static_cast<double>(question_tokens);
    const double weights =
        static_cast<double>(parameters - shape.vocabulary * shape.width) * 2 * count;
    const double seen = static_cast<double>(first_tokens) + count / 2;
    return weights + 4 * count * seen * static_cast<double>(shape.width * shape.layers);
}

void measure(std::size_t layers, std::size_t width, std::size_t heads, std::size_t hidden,
             const std::vector<std::string>& pieces) {
    steer::SteeringModel model = random_model({.layers = layers,
                                               .width = width,
                                               .heads = heads,
                                               .kv_heads = heads,
                                               .hidden = hidden,
                                               .context = 2048,
                                               .rope_base = 10000,
                                               .norm_eps = 1e-5},
                                              pieces, 1);
    const std::uint64_t parameters = model.parameters();
    const steer::ModelShape shape = model.shape;
    const steer::Transformer transformer(model);
    steer::Reading reading(transformer);
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 1}), 0);
    std::vector<steer::TokenId> tokens(first_tokens + question_tokens);
    for (steer::TokenId& token : tokens)
        token = static_cast<steer::TokenId>(draws.below(shape.vocabulary));
    const auto on = [] { return true; };
    static_cast<void>(reading.read(std::span(tokens).first(first_tokens), on));
    std::vector<double> prefill;
    std::vector<double> single;
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
        reading.keep(first_tokens);
        std::uint64_t start = thread_cpu_nanoseconds();
        static_cast<void>(reading.read(std::span(tokens).subspan(first_tokens), on));
        prefill.push_back(since(start));
        start = thread_cpu_nanoseconds();
        for (std::size_t i = 0; i < 32; ++i)
            static_cast<void>(reading.read(std::span(tokens).subspan(i, 1), on));
        single.push_back(since(start) / 32);
    }
    // A whole decision: tokens, schema, reply.
    steer::LocalModel whole(std::move(model), 0, 256);
    std::vector<double> decision;
    for (std::uint64_t step = 16; step < 16 * (repeats + 2); step += 16) {
        steer::Observation o = seen(step);
        for (std::uint64_t before = 0; before < 5; ++before)
            o.history.push_back(past(step + before));
        const std::vector<steer::ChatMessage> messages{
            {steer::ChatRole::system, steer::system_message(some_facts())},
            {steer::ChatRole::user, steer::user_message(o, 5, {}, {100000}).text}};
        const std::uint64_t start = thread_cpu_nanoseconds();
        static_cast<void>(whole.chat(messages, reply_schema(o, some_facts().built_in),
                                     steer::LocalModel::Clock::time_point::max()));
        if (step > 16) decision.push_back(since(start));  // the first reads the first message
    }
    const auto& counts = whole.counts();
    fmt::print(
        "{:6.2f} M parameters: 600 tokens {:7.1f} ms ({:5.1f} GFLOP/s), a token of a reply "
        "{:6.3f} ms; decisions {:7.1f} ms (per decision {} tokens read, {} kept, {} written)\n",
        static_cast<double>(parameters) * 1e-6, 1e3 * median(prefill),
        1e-9 * operations(shape, parameters) / median(prefill), 1e3 * median(single),
        1e3 * median(decision), counts.read / (repeats + 1), counts.kept / (repeats + 1),
        counts.written / (repeats + 1));
}

/// As long as prompts get: past decisions, and all policies beside the run.
steer::Observation long_observation(std::uint64_t step, std::uint64_t history) {
    steer::Observation o = seen(step);
    o.rows.demand += step % 97;
    for (std::uint64_t before = 0; before < history; ++before) {
        o.history.push_back(past(step + before));
        if (before % 2 == 1)
            o.history.back().action =
                steer::Action::set({{steer::KnobId::decay, 0.9}}, steer::Reason::trying);
    }
    for (const char* policy :
         {"window:4", "window:16", "window:64", "lru", "lfu", "static-degree"}) {
        o.shadows.push_back(o.twin);
        o.shadows.back().name = policy;
        o.shadows.back().setting.policy = buffer::PolicySpec::parse(policy);
        o.shadows.back().rows.demand += step * o.shadows.size() % 301;
        o.shadows.back().age = step + 16;
    }
    return o;
}

/// Past decisions that make a question at least so many tokens long.
std::uint64_t history_of(const steer::LocalModel& model, std::uint64_t tokens) {
    std::uint64_t history = 5;
    const auto length = [&] {
        const auto o = long_observation(16, history);
        return model.tokens(steer::user_message(o, history, {}, {100000}).text);
    };
    while (length() < tokens && history < 100)
        ++history;
    return history;
}

/// Questions with at least so many tokens behind the first message.
void measure_built_in(std::uint64_t at_least, std::ostream* prompts = nullptr) {
    using Clock = steer::LocalModel::Clock;
    steer::LocalModel model(steer::built_in_model(), 0, 256);
    const std::uint64_t history = history_of(model, at_least);
    std::vector<double> seconds;
    std::uint64_t tokens = 0;
    for (std::uint64_t step = 16; seconds.size() < decisions; step += 16) {
        const steer::Observation o = long_observation(step, history);
        const std::vector<steer::ChatMessage> messages{
            {steer::ChatRole::system, steer::system_message(some_facts())},
            {steer::ChatRole::user, steer::user_message(o, history, {}, {100000}).text}};
        const Json schema = reply_schema(o, some_facts().built_in);
        const Clock::time_point clock = Clock::now();
        const std::uint64_t start = thread_cpu_nanoseconds();
        const std::string reply = model.chat(messages, schema, Clock::time_point::max());
        if (step > 16) seconds.push_back(since(start));  // the first reads the first message
        const double by_clock = std::chrono::duration<double>(Clock::now() - clock).count();
        tokens = model.tokens(messages[1].text);
        if (prompts != nullptr) {
            *prompts << Json{{"system", messages[0].text}, {"user", messages[1].text},
                             {"schema", schema},           {"reply", reply},
                             {"seconds", by_clock},        {"tokens", tokens}}
                            .dump()
                     << '\n';
        }
    }
    fmt::print(
        "built-in, {}: {} tokens behind the first message; a decision {:.1f} ms (median), {:.1f} "
        "ms (p99) of {}\n",
        model.kind(), tokens, 1e3 * median(seconds), 1e3 * quantile(seconds, 0.99), decisions);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--prompts") {
        std::ofstream prompts(argv[2]);
        measure_built_in(question_tokens, &prompts);
        return prompts.good() ? 0 : 1;
    }
    if (argc != 1) {
        fmt::print(stderr, "usage: bench_steer_local_model [--prompts FILE]\n");
        return 2;
    }
    steer::Observation o = seen(160);
    o.history.push_back(past(144));
    const std::string text = steer::system_message(some_facts()) +
                             steer::user_message(o, 5, {}, {100000}).text +
                             reply_schema(o, some_facts().built_in).dump();
    const std::vector<std::string> pieces = pieces_with(pieces_of_text(text, 700));
    fmt::print("{} tokens in the vocabulary; medians of {}\n", pieces.size(), repeats);
    measure(3, 80, 4, 216, pieces);
    measure(4, 128, 4, 344, pieces);
    measure(6, 160, 5, 430, pieces);
    measure(6, 256, 8, 684, pieces);
    measure_built_in(0);
    measure_built_in(question_tokens);
}
