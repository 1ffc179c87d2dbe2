// A job of ranks that meet over sockets: who this process is in it, by its environment.
#pragma once

#include <cstdint>
#include <string>

namespace rudder::comm {

struct SocketJob {
    int rank = 0;
    int size = 1;
    std::string host = "127.0.0.1";  ///< of rank 0
    std::uint16_t port = 0;          ///< where rank 0 is met
    std::string secret;              ///< what ranks of the job know
    int listener = -1;               ///< of rank 0: a socket that listens there already
};

/// Whether a launcher has started this process as a rank of such a job: torchrun, and all that set
/// its variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), or ours.
[[nodiscard]] bool sockets_launched() noexcept;

/// What the variables say; a usage Error names the one that is missing or invalid. Ranks meet at
/// RUDDER_PORT, or at the port after MASTER_PORT, which is torchrun's own. RUDDER_JOB_SECRET keeps
/// strangers out; without it ranks of other jobs are told apart by the job's name and address.
[[nodiscard]] SocketJob socket_job();

/// Puts the job into the environment, as launchers do.
void announce_job(const SocketJob& job);

}  // namespace rudder::comm
