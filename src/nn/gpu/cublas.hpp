// cuBLAS, where a machine has it: loaded when a device is opened, never linked.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device.hpp"

namespace rudder::nn {

/// Products by the library of the machine, in float32 (no TF32), with the same bits from run to
/// run: one stream, a workspace of its own, no atomics.
class CublasProducts {
public:
    /// Null where there is no such library, with the reason; `stream` is a CUDA stream.
    [[nodiscard]] static std::unique_ptr<CublasProducts> load(void* stream, void* workspace,
                                                              std::size_t bytes,
                                                              std::string& reason);
    ~CublasProducts();
    CublasProducts(const CublasProducts&) = delete;
    CublasProducts& operator=(const CublasProducts&) = delete;

    /// The library's error, 0: none.
    [[nodiscard]] int multiply(const DeviceProduct& product) const;
    [[nodiscard]] const std::string& version() const noexcept { return version_; }

private:
    struct Functions;
    CublasProducts();

    std::unique_ptr<Functions> functions_;
    void* handle_ = nullptr;
    std::string version_;
};

}  // namespace rudder::nn
