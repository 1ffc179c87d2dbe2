#include "collect.hpp"

#include <algorithm>

#include "rudder/core/parallel.hpp"
#include "steer/helm/helm_options.hpp"

namespace rudder::steer {

SampleTable collect(const buffer::Trace& trace, const std::string& graph,
                    const buffer::PolicySpec& policy, const buffer::BufferSize& size,
                    const CollectOptions& options) {
    check_collectable(policy);
    std::vector<SampleTable> parts(trace.size());
    parallel_chunks(trace.size(), 1, [&](const Chunk& chunk) {
        const buffer::HostTrace& host = *trace[chunk.index];
        const std::uint64_t slots = std::min(size.of(host.halo()), host.distinct());
        Collector collector(replay_helm_options(AgentSpec::parse("always"), host, policy, slots),
                            options);
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
