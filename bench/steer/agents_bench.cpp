// Runs agents over a recorded trace and prints what they cost, in all and after the first epoch.
//
//     bench_steer_agents TRACE FRACTION [--hosts N] [--notes] POLICY@AGENT[@SHARE] ...
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "steered_run.hpp"

namespace {

using namespace rudder;

void print(const std::string& name, const bench::SteeredRun& run, const buffer::Trace& trace,
           bool notes) {
    std::uint64_t steps = 0;
    for (const auto& host : trace)
        steps += host->steps();
    const steer::HelmTotals& agent = run.result.agent;
    fmt::print("{:<48} {:>11} {:>11.0f} applied {:>4} undone {:>2} cpu {:.3f} ms/step\n", name,
               run.result.rows.fetched(), run.later, agent.applied, agent.undone,
               1e3 * agent.cpu_seconds / static_cast<double>(steps));
    if (notes) {
        for (const steer::DecisionRecord& record : run.result.decisions) {
            if (record.rank == trace[0]->header().host && !record.note.empty())
                fmt::print("    {:>5} {}\n", record.step, record.note);
        }
        fmt::print("{}\n", run.result.learned.front());
    }
    std::fflush(stdout);
}

int bench_agents(const std::vector<std::string>& words) {
    if (words.size() < 3) {
        throw usage_error("too few arguments", "bench_steer_agents",
                          "give TRACE FRACTION [--hosts N] [--notes] POLICY@AGENT[@SHARE] ...");
    }
    buffer::Trace trace = buffer::read_trace(words[0]);
    const double fraction = parse_double(words[1]).value();
    bool notes = false;
    for (std::size_t i = 2; i < words.size(); ++i) {
        if (words[i] == "--hosts") {
            trace.resize(std::min<std::size_t>(trace.size(), parse_u64(words.at(++i)).value()));
        } else if (words[i] == "--notes") {
            notes = true;
        } else {
            print(words[i], bench::steered_run(trace, fraction, words[i]), trace, notes);
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return bench_agents({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
