#include "steered_replay.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "steer/helm/helm_options.hpp"

namespace rudder::steer {

namespace {

/// Tells a watcher of every step.
class WatchedHelm final : public Helm {
public:
    WatchedHelm(HelmOptions helm, const SteeredOptions& options, std::size_t host)
        : Helm(std::move(helm)), options_(options), host_(host) {}

    void after(std::uint64_t step, const Rows& accounts) override {
        Helm::after(step, accounts);
        if (options_.watch) options_.watch(host_, step, accounts);
    }

private:
    const SteeredOptions& options_;
    std::size_t host_;
};

HelmOptions steered_options(const buffer::HostTrace& trace, const SteeredCase& one,
                            const SteeredOptions& options) {
    const std::uint64_t slots = std::min(one.size.of(trace.halo()), trace.distinct());
    HelmOptions helm = replay_helm_options(one.agent, trace, one.policy, slots);
    helm.sample = options.sample;
    helm.judged_at_once = options.judged_at_once;
    helm.guard = options.guard;
    AgentFacts& facts = helm.facts;
    facts.seed = options.seed;
    facts.start.capacity =
        static_cast<std::uint64_t>(std::floor(one.start_share * static_cast<double>(slots)));
    facts.run = options.run;
    facts.force = options.force;
    facts.refit = options.refit;
    facts.llm = options.llm;
    return helm;
}

}  // namespace

SteeredResult steered_replay(const buffer::Trace& trace, const SteeredCase& one,
                             const SteeredOptions& options) {
    struct OfHost {
        Rows rows;
        HelmTotals agent;
        std::vector<DecisionRecord> decisions;
        std::string learned;
    };
    std::vector<OfHost> hosts(trace.size());
    parallel_chunks(trace.size(), 1, [&](const Chunk& chunk) {
        const buffer::HostTrace& host = *trace[chunk.index];
        OfHost& of = hosts[chunk.index];
        WatchedHelm helm(steered_options(host, one, options), options, chunk.index);
        of.rows = buffer::replay_host(host, one.policy, one.size.of(host.halo()), &helm);
        of.decisions = helm.take_records(true);
        of.agent = helm.totals();
        of.learned = helm.learned();
    });
    SteeredResult result;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        result.capacity += one.size.of(trace[i]->halo());
        result.rows += hosts[i].rows;
        result.agent += hosts[i].agent;
        result.learned.push_back(std::move(hosts[i].learned));
        std::ranges::move(hosts[i].decisions, std::back_inserter(result.decisions));
    }
    std::ranges::stable_sort(result.decisions, {}, &DecisionRecord::step);
    return result;
}

std::string run_of(const buffer::Trace& trace) {
    if (trace.empty()) return {};
    const buffer::TraceHeader& header = trace.front()->header();
    return fmt::format("{}/{}/{}", header.graph, header.seed, trace.size());
}

}  // namespace rudder::steer
