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
    disk,       ///< checkpoints cannot be written, from the start or some time on: it ends well
    memory,     ///< an allocation of a rank fails
    bits,       ///< a bit flipped, or the end cut off: of the last checkpoint, or of a part
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
    std::uint32_t every_epochs = 1;      ///< checkpoints; 0: none is due
    bool sinks = false;                  ///< those of the program, with their files
    bool disk_fills = false;             ///< after some bytes; else nothing can be written at all
    bool part_damaged = false;           ///< and no checkpoint
    bool short_reads = false;            ///< of files

    [[nodiscard]] std::string text() const;
};

/// Parts of the data sets to be had.
inline constexpr std::uint64_t few_parts = 12;
inline constexpr std::uint64_t many_parts = 16;

/// What is drawn of a scenario: all, or what seeds had before the rest was added. That is drawn
/// apart, so that a seed that once failed can be repeated as it was.
enum class Drawn : std::uint8_t { all, first };
[[nodiscard]] Scenario draw_scenario(std::uint64_t seed, Drawn drawn = Drawn::all);

}  // namespace rudder::test
