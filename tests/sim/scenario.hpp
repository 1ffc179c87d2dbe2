// A whole training run drawn from a seed: its data, options, machines, network, and what goes
// wrong.
#pragma once

#include <cstdint>
#include <string>

#include "comm/simulated_cluster.hpp"
#include "rudder/train/options.hpp"

namespace rudder::test {

/// What a run may come to.
enum class Trouble : std::uint8_t {
    none,       ///< whatever is late or slow: it ends well
    death,      ///< a rank dies with all its tasks
    failure,    ///< a rank fails with an error of its own
    interrupt,  ///< a signal, answered with a checkpoint
    disk,       ///< no checkpoint can be written: it ends well
    memory,     ///< an allocation of a rank fails
    bits,       ///< interrupted; then the last checkpoint has a bit flipped, or is cut short
};

struct Scenario {
    std::uint64_t seed = 0;
    int graph = 0;  ///< which of the data sets
    train::TrainOptions options;
    comm::SimulationOptions cluster;  ///< with pauses, and nothing that ends the run
    Trouble trouble = Trouble::none;
    int rank = 0;                        ///< in trouble
    double moment = 0;                   ///< of it, as a fraction of the run
    ErrorKind kind = ErrorKind::failed;  ///< of a failure

    [[nodiscard]] std::string text() const;
};

/// Parts of the data sets to be had.
inline constexpr std::uint64_t few_parts = 12;
inline constexpr std::uint64_t many_parts = 16;

[[nodiscard]] Scenario draw_scenario(std::uint64_t seed);

}  // namespace rudder::test
