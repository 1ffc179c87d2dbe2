// What loaders and stores are asked for: options of training by their names, and the parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "rudder/comm/communicator.hpp"
#include "rudder/train/options.hpp"

namespace rudder::python {

/// More epochs than anyone takes.
inline constexpr std::uint32_t endless_epochs = 1'000'000'000;

/// Options of training, of an object of JSON with their names; null: as if it were not there. A
/// usage Error where one is not known, or its value is of another kind. `epochs` are those where
/// nothing is said.
[[nodiscard]] train::TrainOptions read_options(const std::string& text, std::uint32_t epochs);

/// Collective: the parts at that path, or of the data set there, which is divided into a part per
/// rank.
[[nodiscard]] std::filesystem::path parts_of(const comm::Communicator& comm,
                                             const std::string& path);

}  // namespace rudder::python
