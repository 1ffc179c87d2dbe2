// Checkpoints: everything a run needs to go on as if it had never stopped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rudder/nn/network.hpp"
#include "rudder/train/options.hpp"

namespace rudder {

/// A network as a run left it, with what is needed to use it.
struct SavedNetwork {
    NetworkOptions options;
    std::vector<float> weights;  ///< flat, as Network::weights
    std::uint64_t step = 0;      ///< steps it was trained for
    std::uint32_t epoch = 0;
    std::filesystem::path checkpoint;
    std::string data;           ///< path of the partitioned data set it was trained on
    std::string data_checksum;  ///< of that data set's manifest
    std::string precision;      ///< of the rows it was trained on
    TrainOptions train;  ///< as far as evaluation needs them: fan-outs, batch, seed, topology
};

/// The network of a run folder for inference: the best by validation if there is one, else the
/// last. No usable checkpoint is an input Error that names what was found.
[[nodiscard]] SavedNetwork load_network(const std::filesystem::path& run);

}  // namespace rudder
