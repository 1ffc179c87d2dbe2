// Options as JSON, for checkpoints.
#pragma once

#include <string>

#include "rudder/core/json_fwd.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/train/options.hpp"

namespace rudder::train {

/// Everything a network is made from.
[[nodiscard]] Json network_json(const nn::NetworkOptions& options);
[[nodiscard]] nn::NetworkOptions network_from_json(const Json& json, const std::string& where);

/// The options on which the losses depend, and no others.
[[nodiscard]] Json training_json(const TrainOptions& options);
/// The reverse; what is not among them has its default.
[[nodiscard]] TrainOptions training_from_json(const Json& json, const std::string& where);

/// Refuses a network that is not one of such training: an Error of input.
void check_trained_as(const nn::NetworkOptions& network, const TrainOptions& options,
                      const std::string& where);

}  // namespace rudder::train
