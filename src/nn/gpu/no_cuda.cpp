// Of builds without CUDA: there are no GPUs.
#include "rudder/core/error.hpp"

#include "device.hpp"

namespace rudder::nn {

DevicesFound find_devices() {
    DevicesFound found;
    found.missing = "this build has no CUDA";
    return found;
}

std::shared_ptr<Device> open_device(int /*ordinal*/, DeviceProducts /*products*/) {
    throw usage_error("no GPU can be used: this build has no CUDA", "--device",
                      "give --device cpu, or build with -DRUDDER_CUDA=ON where nvcc is installed");
}

}  // namespace rudder::nn
