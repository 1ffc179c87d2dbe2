// The model that the program carries: models/steering.safetensors, byte for byte.
#pragma once

#include <cstddef>
#include <span>

#include "steering_model.hpp"

namespace rudder::steer {

/// What the model is called where one is named.
inline constexpr const char* built_in_model_name = "built-in";

/// The file's bytes, which are part of the program.
[[nodiscard]] std::span<const std::byte> built_in_model_bytes() noexcept;

/// The model, read and checked as any file is.
[[nodiscard]] SteeringModel built_in_model();

}  // namespace rudder::steer
