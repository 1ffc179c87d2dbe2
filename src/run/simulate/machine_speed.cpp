#include "machine_speed.hpp"

#include <algorithm>

#include "core/machine_profile.hpp"

namespace rudder::run {

MachineSpeed machine_speed(const std::string& profile, std::uint64_t threads,
                           sample::Sampler sampler) {
    const MachineProfile known = read_machine_profile(profile);
    const ComputeRates rates = known.compute_with(threads);
    // A task that samples is one thread.
    const ComputeRates one = known.compute_with(1);
    MachineSpeed speed;
    speed.memory = known.machine.memory;
    speed.compute = {.edges = sampler == sample::Sampler::shared ? one.shared_edges_per_second
                                                                 : one.plain_edges_per_second,
                     .gather_bytes = rates.gather_bytes_per_second,
                     .flops = rates.product_flops_per_second,
                     .aggregate_bytes = rates.aggregate_bytes_per_second,
                     .policy_rows = rates.policy_rows_per_second,
                     .messages = 0,
                     .step_factor = rates.step_factor};
    if (!known.network) return speed;
    const LinkRates& link = known.network->widest();
    speed.compute.messages = link.messages_per_second;
    speed.link = {.delay = Duration(static_cast<Duration::rep>(link.latency_us * 1e3)),
                  .bytes_per_second = link.bytes_per_second};
    return speed;
}

}  // namespace rudder::run
