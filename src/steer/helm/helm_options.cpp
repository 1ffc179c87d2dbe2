#include "helm_options.hpp"

#include <utility>

namespace rudder::steer {

namespace {

std::uint64_t most(KnobId id) {
    return static_cast<std::uint64_t>(knob(id).maximum);
}

}  // namespace

HelmOptions helm_options(AgentSpec agent, const buffer::PolicySpec& policy, std::uint64_t slots) {
    HelmOptions helm{.agent = std::move(agent)};
    helm.facts.start.policy = policy;
    helm.facts.start.capacity = slots;
    helm.facts.built_in = buffer::built_in_rule(policy);
    helm.facts.limits.slots = slots;
    return helm;
}

HelmOptions replay_helm_options(AgentSpec agent, const buffer::HostTrace& trace,
                                const buffer::PolicySpec& policy, std::uint64_t slots) {
    const buffer::TraceHeader& header = trace.header();
    HelmOptions helm = helm_options(std::move(agent), policy, slots);
    // A log is repeated as it is: what acts on time does nothing here.
    if (helm.agent.info().fixed) {
        helm.facts.limits.sample_threads = most(KnobId::sample_threads);
        helm.facts.limits.fetch_threads = most(KnobId::fetch_threads);
        helm.facts.limits.in_flight = most(KnobId::in_flight);
        helm.facts.limits.buckets = most(KnobId::buckets);
    }
    helm.facts.steps = header.first_step + trace.steps();
    helm.facts.steps_per_epoch = header.steps_per_epoch;
    helm.facts.rank = static_cast<std::uint32_t>(header.host);
    helm.mode = AgentMode::inline_call;
    helm.row_bytes = header.row_bytes;
    helm.halo = trace.halo();
    helm.sizes = {header.batch, header.vertices, header.own_vertices};
    return helm;
}

}  // namespace rudder::steer
