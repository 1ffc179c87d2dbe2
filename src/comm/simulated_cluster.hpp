// N ranks in one process on the seeded executor: the same seed gives the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/executor/seeded_executor.hpp"
#include "rudder/comm/communicator.hpp"

#include "link_model.hpp"

namespace rudder::comm {

/// What the simulated machines and their network are like, and what goes wrong.
struct SimulationOptions {
    int ranks = 1;
    int ranks_per_host = 1;
    std::uint64_t seed = 0;
    LinkModel link;      ///< of each rank, each way; messages from many to one queue at its end
    Duration jitter{0};  ///< every message is late by up to this, at random; pairs keep order
    struct Fault {
        int rank;
        Duration at;
        Duration length = no_deadline;  ///< of a pause; for ever: the rank dies
    };
    std::vector<Fault> faults;
    Duration death_notice = std::chrono::milliseconds(100);  ///< until the others hear of a death
};

/// Runs a program on every rank. A rank's death is told to the others: their waits end with an
/// Error of kind `rank` that names it. A deadlock is an Error that names each rank and what it
/// waits for.
class SimulatedCluster {
public:
    explicit SimulatedCluster(const SimulationOptions& options);
    ~SimulatedCluster();

    /// Runs `program` on all ranks to its end; throws the first rank's error that nobody caught.
    void run(const std::function<void(Communicator)>& program);
    [[nodiscard]] SeededExecutor& executor() noexcept;
    /// Messages sent in all.
    [[nodiscard]] std::uint64_t messages() const noexcept;

    struct State;

private:
    std::shared_ptr<State> state_;
};

}  // namespace rudder::comm
