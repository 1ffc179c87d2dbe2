// Starting ranks on this machine: mpirun with the settings that are right here, and our exit codes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace rudder::comm {

struct LaunchOptions {
    int ranks = 1;
    std::vector<std::string> command;  ///< program and arguments of each rank
    /// After one rank has ended badly the others have this long to end.
    std::chrono::milliseconds grace = std::chrono::seconds(3);
    /// After an interrupt: as long as a batch system leaves (Slurm's KillWait is 30 s), so that a
    /// step may end and a checkpoint be written.
    std::chrono::milliseconds interrupt_grace = std::chrono::seconds(25);
};

/// A usage Error in a build without MPI.
void require_mpi();

/// Starts the ranks, waits for them and returns the code of the whole: 4 where a rank ended without
/// a status or was killed, else the most severe of their statuses. SIGINT and SIGTERM are passed on
/// to the ranks; where none was there to take them, the interrupt is thrown. No process is left
/// behind, not even if this one is killed.
int launch_ranks(const LaunchOptions& options);

/// The command line of mpirun for so many ranks of this machine; empty if there is none.
[[nodiscard]] std::vector<std::string> mpirun_command(int ranks);

}  // namespace rudder::comm
