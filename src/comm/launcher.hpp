// Starting ranks on this machine: mpirun with the settings that are right here, and our exit codes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace rudder::comm {

struct LaunchOptions {
    int ranks = 1;
    std::vector<std::string> command;  ///< program and arguments of each rank
    /// After one rank has ended badly, or an interrupt, the others have this long to end.
    std::chrono::milliseconds grace = std::chrono::seconds(3);
};

/// A usage Error in a build without MPI.
void require_mpi();

/// Starts the ranks, waits for them and returns the code of the whole: 4 where a rank ended without
/// a status or was killed, else the most severe of their statuses. SIGINT and SIGTERM are passed on
/// to the ranks. No process is left behind.
int launch_ranks(const LaunchOptions& options);

/// The command line of mpirun for so many ranks of this machine; empty if there is none.
[[nodiscard]] std::vector<std::string> mpirun_command(int ranks);

/// The most severe of some exit codes: a lost rank, a failure, bad input, wrong use, interrupt,
/// none.
[[nodiscard]] int most_severe(const std::vector<int>& codes);

}  // namespace rudder::comm
