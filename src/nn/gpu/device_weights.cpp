#include "device_weights.hpp"

#include <algorithm>

#include "rudder/core/check.hpp"

namespace rudder::nn {

DeviceWeights::DeviceWeights(std::shared_ptr<Device> device, Network& host)
    : device_(std::move(device)),
      host_(host),
      size_(host.weights().size()),
      memory_(device_, DeviceMemory::Where::device, "weights and their gradient"),
      pinned_(device_, DeviceMemory::Where::pinned, "weights"),
      values_(nullptr),
      gradient_(nullptr),
      staging_(nullptr) {
    Stretches counted;
    static_cast<void>(counted.take<float>(size_));
    const std::size_t half = counted.bytes();
    Stretches there(memory_.fit(2 * half));
    values_ = there.take<float>(size_);
    gradient_ = there.take<float>(size_);
    staging_ = reinterpret_cast<float*>(pinned_.fit(half));
}

float* DeviceWeights::values() {
    if (current_) return values_;
    // The staging may still be read by what was asked for before.
    device_->finish();
    std::ranges::copy(host_.weights(), staging_);
    device_->upload(values_, staging_, size_ * sizeof(float));
    device_->finish();
    current_ = true;
    return values_;
}

void DeviceWeights::bring_back(std::span<float> weights) {
    device_->download(staging_, values_, size_ * sizeof(float));
    device_->finish();
    for (const Parameter& each : host_.parameters()) {
        if (each.trained)
            std::copy_n(staging_ + each.offset, each.size, weights.data() + each.offset);
    }
}

const Parameter& DeviceWeights::parameter(std::string_view name) const {
    const auto all = host_.parameters();
    const auto found = std::ranges::find(all, name, &Parameter::name);
    RUDDER_CHECK(found != all.end());
    return *found;
}

bool DeviceWeights::has(std::string_view name) const noexcept {
    const auto all = host_.parameters();
    return std::ranges::find(all, name, &Parameter::name) != all.end();
}

}  // namespace rudder::nn
