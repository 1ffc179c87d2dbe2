// Runs programs as ranks under mpirun.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace rudder::test {

/// Some ranks that run the same command.
struct RankGroup {
    int ranks;
    std::vector<std::string> command;
};

/// How mpirun is to run them.
struct MpirunOptions {
    std::vector<std::string> settings = {"btl=vader,self"};  ///< further NAME=VALUE of Open MPI
    std::chrono::seconds limit{60};                          ///< a hang ends then, and fails
};

/// Why no ranks can be started here; empty if they can.
[[nodiscard]] std::string no_mpirun();

/// The command line of mpirun that is right for more ranks than cores on one machine.
[[nodiscard]] std::vector<std::string> mpirun_command(const std::vector<RankGroup>& groups,
                                                      const MpirunOptions& options = {});

/// Runs the groups, ranks counted through, to their end.
[[nodiscard]] Outcome mpirun(const std::vector<RankGroup>& groups,
                             const MpirunOptions& options = {});

}  // namespace rudder::test
