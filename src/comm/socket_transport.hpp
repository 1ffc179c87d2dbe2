// The body of the communicator that needs no MPI: a TCP connection between every two ranks.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "rudder/comm/transport.hpp"

#include "link_model.hpp"
#include "socket_job.hpp"

namespace rudder::comm {

struct SocketOptions {
    SocketJob job;
    int ranks_per_host = 0;         ///< 0: those that share memory (1 where there is a link)
    std::optional<LinkModel> link;  ///< between hosts, on top of the real network
    std::vector<LinkChange> link_changes{};
    /// For the ranks to come together.
    std::chrono::milliseconds patience = std::chrono::minutes(1);
};

/// Meets the other ranks of the job; collective. Messages are looked after by a thread, and by
/// tasks that wait while there are cores to spare. A rank whose connection ends without a word is
/// left to the watchdog for a second; then this rank fails.
[[nodiscard]] std::shared_ptr<Transport> make_socket_transport(const SocketOptions& options);

}  // namespace rudder::comm
