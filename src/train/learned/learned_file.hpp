// Learned rows in a file of a checkpoint.
#pragma once

#include <filesystem>

#include "learned_table.hpp"

namespace rudder::train {

/// As tensors: `values`, and where there is what the optimiser knows `mean`, `square` and `steps`.
void write_learned(const std::filesystem::path& file, const LearnedState& learned);
/// The same back; what is not in the file stays empty. An input Error as of Safetensors.
[[nodiscard]] LearnedState read_learned(const std::filesystem::path& file);

}  // namespace rudder::train
