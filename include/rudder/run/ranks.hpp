// Verbs that run on ranks: started by us, by mpirun, srun or torchrun, or alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/comm/handshake.hpp"
#include "rudder/core/types.hpp"

namespace rudder::run {

/// The options of such verbs.
struct RankOptions {
    int ranks = 0;  ///< to start; 0: none of our own
    int ranks_per_host = 0;
    std::string link;
    /// What carries messages between ranks: mpi, sockets, or auto: what the launcher is for; of
    /// ranks that are to be started, mpi where it can be had.
    std::string transport = "auto";
    bool paranoid = false;
    double stuck_after = 600;            ///< seconds
    std::vector<std::string> arguments;  ///< the whole command line, to start again as a rank
    int restarts = 0;  ///< how often ranks that --ranks started are started again after a death
    std::vector<std::string> arguments_again;  ///< the command line for that
    PartId parts = 0;                          ///< that the ranks share out; 0: the verb has none
    std::string log_format = "plain";          ///< of messages: plain, text or json
    /// Asked after an interrupt: what to do next. None: start again.
    std::function<std::string()> after_interrupt{};
};

/// Collective: unless a number of threads was typed (0: not), ranks of one machine share its cores.
void share_cores(const comm::Communicator& comm, int typed_threads);

/// The command line as a person typed it: with the --ranks that our launcher took from it.
[[nodiscard]] std::vector<std::string> typed_arguments(std::vector<std::string> arguments,
                                                       int ranks);

/// Whether this process is a rank that --ranks launched.
[[nodiscard]] bool is_launched_rank() noexcept;

/// Whether a launcher (ours, mpirun, srun, torchrun) started this process as a rank.
[[nodiscard]] bool is_rank();

/// A rank's work; its result is the exit code.
using RankBody = std::function<int(const comm::Communicator&)>;

/// With --ranks N: starts N ranks of this program with the same arguments and returns their code.
/// As a rank under a launcher: joins the others, checks that all agree on `fingerprint`, and runs
/// `body` under the watchdog. Alone: runs `body` on one rank.
int run_ranked(const RankOptions& options, const comm::Fingerprint& fingerprint,
               const RankBody& body);

}  // namespace rudder::run
