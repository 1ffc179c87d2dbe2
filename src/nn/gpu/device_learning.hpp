// A network and its optimiser on a device: the second body behind the interfaces of the CPU's.
#pragma once

#include <memory>
#include <span>

#include "rudder/nn/network.hpp"
#include "rudder/nn/optimiser.hpp"

#include "device.hpp"

namespace rudder::nn {

class DeviceWeights;

/// Training passes and the optimiser's steps are on the device. Scores and inference are those of
/// the CPU's network, from the same weights, which are brought to the host after every step; so are
/// checkpoints. The optimiser's `step` leaves the gradient as it is where it clips.
struct DeviceLearning {
    std::unique_ptr<Network> network;
    std::unique_ptr<Optimiser> optimiser;
};
/// `refusal_on_device` must have nothing against them.
[[nodiscard]] DeviceLearning make_device_learning(const std::shared_ptr<Device>& device,
                                                  const NetworkOptions& options,
                                                  const OptimiserOptions& optimiser);

/// Why a device cannot train this network; empty: it can.
[[nodiscard]] std::string refusal_on_device(const NetworkOptions& options);

/// Part of make_device_learning.
[[nodiscard]] std::unique_ptr<Optimiser> make_device_optimiser(
    const std::shared_ptr<DeviceWeights>& weights, const OptimiserOptions& options,
    std::span<const Parameter> parameters);

}  // namespace rudder::nn
