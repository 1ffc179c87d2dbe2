// What simulated machines compute and carry, by their profile.
#pragma once

#include <cstdint>
#include <string>

#include "rudder/sample/batch.hpp"
#include "train/simulate/cluster_model.hpp"

namespace rudder::run {

struct MachineSpeed {
    train::ComputeSpeed compute;
    comm::LinkModel link;      ///< between hosts
    std::uint64_t memory = 0;  ///< of a host; 0: not known
};

/// Of a rank with so many threads, by a profile in a file or one that is built in
/// (read_machine_profile).
[[nodiscard]] MachineSpeed machine_speed(const std::string& profile, std::uint64_t threads,
                                         sample::Sampler sampler);

}  // namespace rudder::run
