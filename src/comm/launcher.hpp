// Starting ranks on this machine, by mpirun with the settings that are right here or as processes
// of ours, and their exit codes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rudder::comm {

/// What carries messages between processes.
enum class Carrier : std::uint8_t { mpi, sockets };

struct LaunchOptions {
    int ranks = 1;
    Carrier carrier = Carrier::mpi;
    std::vector<std::string> command;  ///< program and arguments of each rank
    /// After one rank has ended badly the others have this long to end.
    std::chrono::milliseconds grace = std::chrono::seconds(3);
    /// After an interrupt: as long as a batch system leaves (Slurm's KillWait is 30 s), so that a
    /// step may end and a checkpoint be written.
    std::chrono::milliseconds interrupt_grace = std::chrono::seconds(25);
};

/// A usage Error in a build without MPI.
void require_mpi();
/// Whether ranks can be started by mpirun here.
[[nodiscard]] bool has_mpirun();

/// What a launcher has started this process as a rank of: MPI's if it says so, else of a job of
/// sockets; none where no launcher has.
[[nodiscard]] std::optional<Carrier> launched_with() noexcept;

/// Starts the ranks, waits for them and returns the code of the whole: 4 where a rank ended without
/// a status or was killed, else the most severe of their statuses. SIGINT and SIGTERM are passed on
/// to the ranks; where none was there to take them, the interrupt is thrown. No process is left
/// behind, not even if this one is killed.
int launch_ranks(const LaunchOptions& options);

/// The command line of mpirun for so many ranks of this machine; empty if there is none.
[[nodiscard]] std::vector<std::string> mpirun_command(int ranks);

}  // namespace rudder::comm
