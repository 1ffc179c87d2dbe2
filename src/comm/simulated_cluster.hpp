// N ranks in one process on the seeded executor: the same seed gives the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
    /// Of the link, which must be active before them too; with the first rank that gets there.
    std::vector<LinkChange> link_changes{};
    LinkModel link;      ///< of each rank, each way; messages from many to one queue at its end
    Duration jitter{0};  ///< every message is late by up to this, at random; pairs keep order
    struct Fault {
        int rank;
        Duration at;
        Duration length = no_deadline;  ///< of a pause; for ever: the rank dies
        /// Instead of either, the rank fails with this, as if one of its services had.
        std::optional<Error> error = std::nullopt;
    };
    std::vector<Fault> faults;
    Duration death_notice = std::chrono::milliseconds(100);  ///< until the others hear of its end
};

/// Runs a program on every rank. A rank's death, or the error that ended it, is told to the others:
/// their waits end with an Error (of kind `rank`, or of that error's) that names it. A deadlock is
/// an Error that names each rank and what it waits for.
class SimulatedCluster {
public:
    explicit SimulatedCluster(const SimulationOptions& options);
    ~SimulatedCluster();

    /// Runs `program` on all ranks to its end; throws the first rank's error that nobody caught.
    /// Before it returns or throws, all tasks have ended, those of ranks that died unwound.
    void run(const std::function<void(Communicator)>& program);
    [[nodiscard]] SeededExecutor& executor() noexcept;
    [[nodiscard]] const SimulationOptions& options() const noexcept;
    /// Messages sent in all.
    [[nodiscard]] std::uint64_t messages() const noexcept;

    struct State;

private:
    std::shared_ptr<State> state_;
};

}  // namespace rudder::comm
