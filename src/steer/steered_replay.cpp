#include "steered_replay.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "steer/samples/trace_sizes.hpp"

namespace rudder::steer {

namespace {

/// Tells a watcher of every step.
class WatchedHelm final : public buffer::BufferPilot {
public:
    WatchedHelm(Helm& helm, const SteeredOptions& options, std::size_t host)
        : helm_(helm), options_(options), host_(host) {}

    void start(const buffer::PolicyFacts& facts, const buffer::BufferControl& control) override {
        helm_.start(facts, control);
    }
    [[nodiscard]] std::uint64_t horizon() const override { return helm_.horizon(); }
    void published(std::uint64_t step, std::span<const buffer::RowKey> rows) override {
        helm_.published(step, rows);
    }
    void prepare(std::uint64_t step) override { helm_.prepare(step); }
    buffer::Decision before(std::uint64_t step, buffer::BufferControl& control) override {
        return helm_.before(step, control);
    }
    void after(std::uint64_t step, const buffer::RowAccounts& accounts) override {
        helm_.after(step, accounts);
        if (options_.watch) options_.watch(host_, step, accounts);
    }

private:
    Helm& helm_;
    const SteeredOptions& options_;
    std::size_t host_;
};

HelmOptions helm_options(const buffer::HostTrace& trace, const SteeredCase& one,
                         const SteeredOptions& options) {
    const std::uint64_t slots = std::min(one.size.of(trace.halo()), trace.distinct());
    HelmOptions helm{.agent = one.agent};
    helm.make = options.make;
    AgentFacts& facts = helm.facts;
    facts.seed = options.seed;
    facts.start.policy = one.policy;
    facts.start.capacity =
        static_cast<std::uint64_t>(std::floor(one.start_share * static_cast<double>(slots)));
    facts.built_in = buffer::built_in_rule(one.policy);
    facts.limits.slots = slots;
    facts.steps = trace.header().first_step + trace.steps();
    facts.steps_per_epoch = trace.header().steps_per_epoch;
    facts.run = options.run;
    facts.rank = static_cast<std::uint32_t>(trace.header().host);
    facts.force = options.force;
    facts.refit = options.refit;
    facts.llm = options.llm;
    helm.mode = AgentMode::inline_call;
    helm.sample = options.sample;
    helm.judged_at_once = options.judged_at_once;
    helm.rank = static_cast<std::uint32_t>(trace.header().host);
    helm.row_bytes = trace.header().row_bytes;
    helm.halo = trace.halo();
    helm.sizes = sizes_of(trace.header());
    return helm;
}

}  // namespace

SteeredResult steered_replay(const buffer::Trace& trace, const SteeredCase& one,
                             const SteeredOptions& options) {
    struct OfHost {
        buffer::RowAccounts rows;
        HelmTotals agent;
        std::vector<DecisionRecord> decisions;
        std::string learned;
    };
    std::vector<OfHost> hosts(trace.size());
    parallel_chunks(trace.size(), 1, [&](const Chunk& chunk) {
        const buffer::HostTrace& host = *trace[chunk.index];
        OfHost& of = hosts[chunk.index];
        Helm helm(helm_options(host, one, options));
        WatchedHelm watched(helm, options, chunk.index);
        of.rows = buffer::replay_host(host, one.policy, one.size.of(host.halo()), &watched);
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
