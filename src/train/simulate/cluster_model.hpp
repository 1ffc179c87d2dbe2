// What a simulated cluster is like: its ranks and hosts, what they compute, how they are joined.
#pragma once

#include <cstdint>

#include "comm/link_model.hpp"

namespace rudder::train {

/// What a rank computes per second; 0: takes no time.
struct ComputeSpeed {
    double edges = 0;            ///< neighbours that a task draws
    double gather_bytes = 0;     ///< rows put in place
    double flops = 0;            ///< of matrix products
    double aggregate_bytes = 0;  ///< of neighbours' rows read for their means
    double policy_rows = 0;      ///< remote rows of steps that a policy decides on
    double messages = 0;         ///< sent or taken
    double step_factor = 1;      ///< of a step's products and means, for all else it computes
};

/// How gradients are summed: by the owner of each piece, who sends the sum to all ranks; or to all
/// hosts, each of which hands in what its ranks have together.
enum class SumRoute : std::uint8_t { owner, two_level };

struct NetworkModel {
    comm::LinkModel link;         ///< of a host, each way; its ranks share it
    double oversubscription = 1;  ///< what all links carry together over what the core does
    /// By how much a host takes longer to receive for each further message that comes at once.
    double incast = 0;
    SumRoute sums = SumRoute::owner;
};

struct ClusterModel {
    int ranks = 1;
    int ranks_per_host = 1;
    int sample_tasks = 1;  ///< of each rank
    ComputeSpeed compute;
    NetworkModel network;
    std::uint64_t memory = std::uint64_t{64} << 30;  ///< of a host

    [[nodiscard]] int hosts() const noexcept {
        return (ranks + ranks_per_host - 1) / ranks_per_host;
    }
    [[nodiscard]] int host_of(int rank) const noexcept { return rank / ranks_per_host; }
    [[nodiscard]] int first_rank(int host) const noexcept { return host * ranks_per_host; }
    /// One past the last rank of a host.
    [[nodiscard]] int end_rank(int host) const noexcept {
        const int end = (host + 1) * ranks_per_host;
        return end < ranks ? end : ranks;
    }
};

}  // namespace rudder::train
