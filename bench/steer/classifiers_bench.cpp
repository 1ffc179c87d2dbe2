// Classifiers: how long one answer takes, and what they cost as agents over a trace.
//
//   bench_steer_classifiers                                    answers of models of full size
//   bench_steer_classifiers TRACE FRACTION POLICY AGENT...     rows of each agent over the trace
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/executor/thread_executor.hpp"
#include "rudder/core/error.hpp"
#include "steer/random_models.hpp"
#include "steer/steered_replay.hpp"

using namespace rudder;
using Clock = std::chrono::steady_clock;

namespace {

void time_answers() {
    constexpr int rounds = 2000;
    for (const std::string_view kind : steer::classifier_kinds) {
        const steer::Model model = test::random_model(std::string(kind), 1);
        const auto classifier = steer::make_classifier(model, "bench");
        const RandomStream stream({.purpose = Purpose::test, .seed = 1});
        Draws draws(stream, 0);
        std::vector<std::vector<float>> inputs;
        for (int i = 0; i < 64; ++i)
            inputs.push_back(test::drawn(draws, model.mean.size(), 2));
        std::vector<double> times;
        double sum = 0;
        for (int i = 0; i < rounds; ++i) {
            const auto start = Clock::now();
            sum += classifier->probability(inputs[static_cast<std::size_t>(i) % inputs.size()]);
            times.push_back(
                std::chrono::duration<double, std::micro>(Clock::now() - start).count());
        }
        std::ranges::sort(times);
        fmt::print(
            "{:<8} median {:7.2f} us   90 % {:7.2f} us   (limit 50 us)   mean answer {:.3f}\n",
            kind, times[times.size() / 2], times[times.size() * 9 / 10], sum / rounds);
    }
}

void replay_agents(int count, char** words) {
    const buffer::Trace trace = buffer::read_trace(words[0]);
    const buffer::BufferSize size{std::atof(words[1]), 0};
    const buffer::PolicySpec policy = buffer::PolicySpec::parse(words[2]);
    double first = 0;
    for (int i = 3; i < count; ++i) {
        steer::SteeredCase one{policy, size, steer::AgentSpec::parse(words[i])};
        steer::SteeredOptions options;
        options.refit = true;
        const auto start = Clock::now();
        const steer::SteeredResult result = steer::steered_replay(trace, one, options);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        const auto rows = static_cast<double>(result.rows.fetched());
        if (i == 3) first = rows;
        const steer::HelmTotals& t = result.agent;
        const double judged = static_cast<double>(std::max<std::uint64_t>(1, t.judged));
        fmt::print(
            "{:<40} rows {:>12.0f}  of first {:.4f}  of needed {:.4f}  yes {:.3f}  right "
            "{:.3f}  breaker {}  {:.1f} s\n",
            words[i], rows, rows / first, rows / static_cast<double>(result.rows.needed),
            static_cast<double>(t.applied) /
                static_cast<double>(std::max<std::uint64_t>(1, t.decisions)),
            static_cast<double>(t.correct) / judged, t.breaker_openings, seconds);
    }
}

}  // namespace

int main(int count, char** words) {
    ThreadExecutor executor;
    int code = 0;
    executor
        .spawn("bench",
               [&] {
                   try {
                       count > 4 ? replay_agents(count - 1, words + 1) : time_answers();
                   } catch (const Error& error) {
                       fmt::print(stderr, "{}\n", error.what());
                       code = error.exit_code();
                   }
               })
        .join();
    return code;
}
