// The GPU of this machine, if there is one.
#pragma once

#include <gtest/gtest.h>

#include "nn/gpu/device.hpp"

namespace rudder::testing {

/// Why no GPU can be tried here; empty: one can.
inline std::string no_gpu() {
    static const nn::DevicesFound found = nn::find_devices();
    return found.missing;
}

/// Tests that need one.
class OnGpu : public ::testing::Test {
protected:
    void SetUp() override {
        if (!no_gpu().empty()) GTEST_SKIP() << "no GPU: " << no_gpu();
    }
};

/// Whether cuBLAS can be loaded here.
inline bool has_cublas() {
    try {
        static_cast<void>(nn::open_device(0, nn::DeviceProducts::cublas));
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace rudder::testing
