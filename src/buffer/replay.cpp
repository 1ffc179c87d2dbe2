#include "rudder/buffer/replay.hpp"

#include <algorithm>
#include <cmath>

#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder {

std::uint64_t BufferSize::of(std::uint64_t halo) const {
    if (!fraction) return rows;
    return static_cast<std::uint64_t>(std::floor(*fraction * static_cast<double>(halo)));
}

RowAccounts replay_host(const HostTrace& trace, const PolicySpec& policy, std::uint64_t capacity,
                        const Decide& decide) {
    // No policy can hold more rows than there are, and slots cost memory.
    const auto slots = static_cast<SlotId>(std::min(capacity, trace.distinct()));
    const std::uint64_t first = trace.header().first_step;
    IdBuffer buffer(policy, trace.facts(), slots, slots, first);
    const std::uint64_t horizon = buffer.horizon();
    std::uint64_t published = 0;
    for (std::uint64_t step = 0; step < trace.steps(); ++step) {
        for (; published < trace.steps() && published - step <= horizon; ++published)
            buffer.publish(first + published, trace.step(published));
        buffer.advance(decide ? decide(buffer, first + step) : Decision{});
    }
    return buffer.accounts();
}

std::vector<ReplayResult> replay(const Trace& trace, std::span<const ReplayCase> cases) {
    // Each pair of case and host is work of its own; sums are in the order of the hosts.
    std::vector<RowAccounts> parts(cases.size() * trace.size());
    parallel_chunks(parts.size(), 1, [&](const Chunk& chunk) {
        const ReplayCase& one = cases[chunk.index / trace.size()];
        const HostTrace& host = *trace[chunk.index % trace.size()];
        parts[chunk.index] = replay_host(host, one.policy, one.size.of(host.halo()));
    });
    std::vector<ReplayResult> results(cases.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        ReplayResult& result = results[i / trace.size()];
        result.capacity += cases[i / trace.size()].size.of(trace[i % trace.size()]->halo());
        result.rows += parts[i];
    }
    return results;
}

}  // namespace rudder
