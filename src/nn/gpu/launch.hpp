// Kernels as the host calls them: each file of kernels makes those of its topic.
#pragma once

#include <cstddef>

#include "device.hpp"

namespace rudder::nn {

/// Starts so many items of a body on a stream. The number of a CUDA error, 0: none.
template <class Body>
[[nodiscard]] int launch_body(const Body& body, std::size_t items, void* stream);

/// Starts a product by a kernel of ours, whose stretches have room in `parts` where there are
/// several.
[[nodiscard]] int launch_product(const DeviceProduct& product, float* parts, void* stream);

/// Whether kernels of this build run on the present device: a CUDA error's number, 0: they do.
[[nodiscard]] int probe_kernels();

}  // namespace rudder::nn
