// What a run computes on: the processor, or a GPU of this host.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/gpu/device.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/train/options.hpp"
#include "train/ground.hpp"

namespace rudder::train {

/// As --device says it.
struct DeviceChoice {
    enum class Kind : std::uint8_t { cpu, choose, cuda };
    Kind kind = Kind::cpu;
    std::optional<int> ordinal{};  ///< of a GPU; none: one each for the ranks of a host, in turn
};
/// "cpu", "auto", "cuda", "cuda:1"; a usage Error otherwise.
[[nodiscard]] DeviceChoice parse_device(std::string_view text);
/// What completion offers.
[[nodiscard]] std::vector<std::string_view> device_names();

/// Refuses (usage Error) what is never trained on a GPU beside --device cuda.
void check_device_options(const TrainOptions& options);

/// Collective: the device of this rank; null: the processor. A usage Error on all ranks where one
/// was asked for and cannot be had, on any of them, or does not train such a network. With auto all
/// ranks take the processor where one of them has no GPU, and rank 0 says what was taken, and why.
[[nodiscard]] std::shared_ptr<nn::Device> choose_device(const Ground& ground,
                                                        const nn::NetworkOptions& network);

/// For tests: what is opened instead of a GPU from now on; empty: GPUs again.
void lend_device(std::function<std::shared_ptr<nn::Device>()> make);

}  // namespace rudder::train
