// Rows that settings fetch in each step of a recorded run, as CSV: what tests of learners are fed.
//
//     bench_steer_rows_by_step TRACE FRACTION POLICY...
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "steered_run.hpp"

namespace {

using namespace rudder;

/// Of the first host, under an agent that has nothing to choose.
std::vector<std::uint64_t> rows_by_step(const buffer::Trace& trace, double fraction,
                                        const std::string& policy) {
    std::vector<std::uint64_t> rows;
    std::uint64_t before = 0;
    steer::SteeredOptions options;
    options.watch = [&](std::size_t host, std::uint64_t, const Rows& all) {
        if (host != 0) return;
        rows.push_back(all.fetched() - before);
        before = all.fetched();
    };
    static_cast<void>(
        steer::steered_replay(trace,
                              {.policy = buffer::PolicySpec::parse(policy),
                               .size = {.fraction = fraction, .rows = 0},
                               .agent = steer::AgentSpec::parse("bandit,knobs:capacity")},
                              options));
    return rows;
}

int print_rows(const std::vector<std::string>& words) {
    if (words.size() < 3) {
        throw usage_error("too few arguments", "bench_steer_rows_by_step",
                          "give TRACE FRACTION POLICY...");
    }
    buffer::Trace trace = buffer::read_trace(words[0]);
    trace.resize(1);
    std::vector<std::vector<std::uint64_t>> columns;
    for (std::size_t i = 2; i < words.size(); ++i)
        columns.push_back(rows_by_step(trace, parse_double(words[1]).value(), words[i]));
    fmt::print("{}\n", fmt::join(words.begin() + 2, words.end(), ";"));
    for (std::size_t step = 0; step < columns.front().size(); ++step) {
        for (std::size_t i = 0; i < columns.size(); ++i)
            fmt::print("{}{}", i == 0 ? "" : ";", columns[i][step]);
        fmt::print("\n");
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return print_rows({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
