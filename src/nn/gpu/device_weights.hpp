// Weights on a device, which a network and its optimiser share.
#pragma once

#include <span>
#include <vector>

#include "rudder/nn/network.hpp"

#include "device_memory.hpp"

namespace rudder::nn {

/// The host's weights are always those of the last step; the device's are taken from them whenever
/// somebody else has written them.
class DeviceWeights {
public:
    DeviceWeights(std::shared_ptr<Device> device, Network& host);

    [[nodiscard]] Device& device() noexcept { return *device_; }
    [[nodiscard]] const std::shared_ptr<Device>& shared_device() const noexcept { return device_; }
    /// The weights there, up to date.
    [[nodiscard]] float* values();
    [[nodiscard]] float* gradient() noexcept { return gradient_; }
    /// Pinned memory as large as the weights.
    [[nodiscard]] float* staging() noexcept { return staging_; }
    /// The host's are newer from now on.
    void forget() noexcept { current_ = false; }
    /// Brings those that are trained to the host, after all that was asked for.
    void bring_back(std::span<float> weights);
    /// Whose elements lie where: `count` from the parameter of this name on. A name that is not
    /// there is a fault of ours.
    [[nodiscard]] const Parameter& parameter(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Bytes on the device.
    [[nodiscard]] static std::uint64_t bytes(std::size_t size) noexcept {
        return 2 * sizeof(float) * std::uint64_t{size};
    }

private:
    std::shared_ptr<Device> device_;
    Network& host_;
    std::size_t size_;
    DeviceMemory memory_;
    DeviceMemory pinned_;
    float* values_;
    float* gradient_;
    float* staging_;
    bool current_ = false;
};

}  // namespace rudder::nn
