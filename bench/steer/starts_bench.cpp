// How soon bandit finds the best of the declared class, and what it costs until then.
//
//     bench_steer_starts TRACE FRACTION [HOSTS]
//
// From each start of the figure in docs/agents.md: rows over those of the best of the class (each
// over the same steps), after the first epoch and after 200 steps; the changes that were taken on
// each host; and what the agent takes of a CPU.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rudder/buffer/pilot.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"
#include "steer/regret/rivals.hpp"
#include "steer/steered_replay.hpp"

namespace {

using namespace rudder;

/// Rows that all hosts had fetched after each step.
using RowsByStep = std::vector<double>;

/// A rival that counts.
class CountingRival final : public buffer::BufferPilot {
public:
    CountingRival(const steer::Rival& rival, RowsByStep& rows) : rival_(rival), rows_(rows) {}
    void start(const buffer::PolicyFacts& /*facts*/, const buffer::IdBuffer& /*buffer*/) override {}
    void published(std::uint64_t /*step*/, std::span<const buffer::RowKey> /*rows*/) override {}
    buffer::PilotOrder before(std::uint64_t /*step*/, const buffer::IdBuffer& /*buffer*/) override {
        return {.decision = {.replace = rival_.replaces(last_)}};
    }
    void after(std::uint64_t /*step*/, const Rows& accounts) override {
        last_ = accounts - all_;
        all_ = accounts;
        rows_[taken_++] += static_cast<double>(accounts.fetched());
    }

private:
    const steer::Rival& rival_;
    RowsByStep& rows_;
    Rows all_;
    Rows last_;
    std::size_t taken_ = 0;
};

class Starts {
public:
    Starts(buffer::Trace trace, double fraction)
        : trace_(std::move(trace)),
          fraction_(fraction),
          steps_(trace_.front()->steps()),
          epoch_(trace_.front()->header().steps_per_epoch) {}

    void table() {
        fmt::print("| start | after epoch 1 ({} steps) | after 200 steps | CPU, ms per step |\n",
                   epoch_);
        fmt::print("| --- | --- | --- | --- |\n");
        std::string changes;
        for (const auto& [name, policy, share] :
             std::initializer_list<Start>{{"window:16", "window:16", 1},
                                          {"window:1", "window:1", 1},
                                          {"lru", "lru", 1},
                                          {"a tenth of the rows", "window:16", 0.1}})
            changes += line(name, policy, share * fraction_);
        fmt::print("\n{}", changes);
    }

private:
    struct Start {
        const char* name;
        const char* policy;
        double share;
    };

    std::string line(const char* name, const char* policy, double fraction) {
        RowsByStep rows(steps_, 0);
        steer::SteeredOptions options;
        options.watch = [&](std::size_t, std::uint64_t step, const Rows& all) {
            rows[step - trace_.front()->header().first_step] += static_cast<double>(all.fetched());
        };
        const steer::SteeredResult run =
            steer::steered_replay(trace_,
                                  {.policy = buffer::PolicySpec::parse(policy),
                                   .size = {.fraction = fraction, .rows = 0},
                                   .agent = steer::AgentSpec::parse("bandit")},
                                  options);
        fmt::print("| `{}` | {} | {} | {:.2f} |\n", name, over(rows, fraction, epoch_),
                   over(rows, fraction, 200),
                   1e3 * run.agent.cpu_seconds / static_cast<double>(steps_ * trace_.size()));
        std::fflush(stdout);
        std::string told;
        for (const std::string& text : run.learned)
            told += fmt::format("{}: {}\n", name, text);
        return told;
    }

    std::string over(const RowsByStep& rows, double fraction, std::size_t from) {
        if (from >= steps_) return "";
        const auto later = [&](const RowsByStep& of) { return of.back() - of[from - 1]; };
        const std::string* best = nullptr;
        double least = 0;
        for (const auto& [name, of] : rivals(fraction)) {
            if (best != nullptr && later(of) >= least) continue;
            best = &name;
            least = later(of);
        }
        return fmt::format("{:.4f} of `{}`", later(rows) / least, *best);
    }

    const std::map<std::string, RowsByStep>& rivals(double fraction) {
        auto& all = rivals_[fraction];
        if (!all.empty()) return all;
        for (const steer::Rival& rival : steer::declared_class()) {
            RowsByStep rows(steps_, 0);
            const bool possible = std::ranges::all_of(
                trace_, [&](const auto& host) { return rival.possible(host->facts()); });
            if (!possible) continue;
            for (const auto& host : trace_) {
                CountingRival pilot(rival, rows);
                const buffer::BufferSize size{.fraction = fraction, .rows = 0};
                static_cast<void>(
                    buffer::replay_host(*host, rival.policy, size.of(host->halo()), &pilot));
            }
            all.emplace(rival.name, std::move(rows));
        }
        return all;
    }

    buffer::Trace trace_;
    double fraction_;
    std::size_t steps_;
    std::size_t epoch_;
    std::map<double, std::map<std::string, RowsByStep>> rivals_;  ///< by fraction
};

int bench_starts(const std::vector<std::string>& words) {
    if (words.size() < 2)
        throw usage_error("too few arguments", "bench_steer_starts", "give TRACE FRACTION [HOSTS]");
    buffer::Trace trace = buffer::read_trace(words[0]);
    if (words.size() > 2)
        trace.resize(std::min<std::size_t>(trace.size(), parse_u64(words[2]).value()));
    Starts(std::move(trace), parse_double(words[1]).value()).table();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return bench_starts({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
