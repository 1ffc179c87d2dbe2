// The figures of bandit and mixture over recorded traces: each beside the best fixed setting.
//
//     bench_steer_learners TRACE FRACTION [HOSTS]
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "steered_run.hpp"

namespace {

using namespace rudder;
using Names = std::vector<std::string>;

class Figures {
public:
    Figures(buffer::Trace trace, double fraction) : trace_(std::move(trace)), fraction_(fraction) {
        for (const auto& host : trace_)
            steps_ += host->steps();
    }

    /// Of the whole run, or of the steps after the first epoch.
    double rows(const std::string& what, bool later) {
        auto found = runs_.find(what);
        if (found == runs_.end()) {
            const bench::SteeredRun run = bench::steered_run(trace_, fraction_, what);
            const double all = static_cast<double>(run.result.rows.fetched());
            found = runs_.emplace(what, std::pair(all, run.later)).first;
            const steer::HelmTotals& agent = run.result.agent;
            fmt::print("  {:<52} {:>10.0f} {:>10.0f}  undone {:>2}  cpu {:.3f} ms/step\n", what,
                       all, run.later, agent.undone,
                       1e3 * agent.cpu_seconds / static_cast<double>(steps_));
            std::fflush(stdout);
        }
        return later ? found->second.second : found->second.first;
    }

    void compare(const std::string& what, const Names& with, double most, bool later = false) {
        std::string best;
        for (const std::string& other : with) {
            if (best.empty() || rows(other, later) < rows(best, later)) best = other;
        }
        const double ratio = rows(what, later) / rows(best, later);
        fmt::print("{} {:.4f} of {}{}: target {:.2f}: {}\n", what, ratio, best,
                   later ? " after the first epoch" : "", most,
                   ratio <= most ? "reached" : "NOT REACHED");
        std::fflush(stdout);
    }

private:
    buffer::Trace trace_;
    double fraction_;
    std::uint64_t steps_ = 0;
    std::map<std::string, std::pair<double, double>> runs_;
};

int bench_learners(const std::vector<std::string>& words) {
    if (words.size() < 2) {
        throw usage_error("too few arguments", "bench_steer_learners",
                          "give TRACE FRACTION [HOSTS]");
    }
    buffer::Trace trace = buffer::read_trace(words[0]);
    if (words.size() > 2)
        trace.resize(std::min<std::size_t>(trace.size(), parse_u64(words[2]).value()));
    Figures figures(std::move(trace), parse_double(words[1]).value());
    for (const std::string policy : {"scored", "scored-faithful"}) {
        Names rules;
        for (const char* rule : {"every:1", "every:2", "every:4", "every:8", "every:16", "every:32",
                                 "never", "threshold"}) {
            rules.push_back(policy + "@" + rule);
        }
        figures.compare(policy + "@bandit,knobs:decide", rules, 1.02);
        figures.compare(policy + "@mixture:always+every:32+random:0.5", {policy + "@every:32"},
                        1.02);
    }
    figures.compare("window:16@bandit", {"window:16"}, 1.01);
    const Names settings{
        "window:4", "window:16", "window:64",      "window:16,decay:0.999", "window:64,decay:0.999",
        "lfu",      "lru",       "scored,every:16"};
    for (const char* start : {"window:1@bandit", "lru@bandit", "window:16@bandit@0.1"})
        figures.compare(start, settings, 1.03, true);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return bench_learners({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
