#include "collect.hpp"

#include <algorithm>

#include "rudder/core/parallel.hpp"

#include "trace_sizes.hpp"

namespace rudder::steer {

namespace {

/// As in a replay of agents.
HelmOptions helm_options(const buffer::HostTrace& trace, const buffer::PolicySpec& policy,
                         std::uint64_t slots) {
    HelmOptions helm{.agent = AgentSpec::parse("always")};
    AgentFacts& facts = helm.facts;
    facts.start.policy = policy;
    facts.start.capacity = slots;
    facts.built_in = buffer::built_in_rule(policy);
    facts.limits.slots = slots;
    facts.steps = trace.header().first_step + trace.steps();
    facts.steps_per_epoch = trace.header().steps_per_epoch;
    helm.rank = static_cast<std::uint32_t>(trace.header().host);
    helm.row_bytes = trace.header().row_bytes;
    helm.halo = trace.halo();
    helm.sizes = sizes_of(trace.header());
    return helm;
}

}  // namespace

SampleTable collect(const buffer::Trace& trace, const std::string& graph,
                    const buffer::PolicySpec& policy, const buffer::BufferSize& size,
                    const CollectOptions& options) {
    check_collectable(policy);
    std::vector<SampleTable> parts(trace.size());
    parallel_chunks(trace.size(), 1, [&](const Chunk& chunk) {
        const buffer::HostTrace& host = *trace[chunk.index];
        const std::uint64_t slots = std::min(size.of(host.halo()), host.distinct());
        Collector collector(helm_options(host, policy, slots), options);
        static_cast<void>(buffer::replay_host(host, policy, size.of(host.halo()), &collector));
        parts[chunk.index] = collector.take();
    });
    SampleTable table;
    table.horizon = options.horizon;
    for (SampleTable& part : parts) {
        part.graphs = {graph};
        table.append(part, graph);
    }
    return table;
}

}  // namespace rudder::steer
