// The safetensors format: named tensors of floats in one file, readable from Python.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rudder::train {

/// A tensor to be written: its values stay the caller's.
struct TensorToWrite {
    std::string name;
    std::vector<std::int64_t> shape;
    std::span<const float> values;
};

/// Writes a file of float32 tensors, in the order given, and flushes it to the disk. `notes` go
/// into its metadata.
void write_safetensors(const std::filesystem::path& file, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& notes);

/// A file of float32 tensors, read whole. What is not such a file, or is cut short, is an input
/// Error that names it.
class Safetensors {
public:
    explicit Safetensors(const std::filesystem::path& file);

    struct Tensor {
        std::vector<std::int64_t> shape;
        std::span<const float> values;
    };
    /// The tensor of that name; an input Error naming file and tensor if there is none, or if it
    /// has another shape than `shape`.
    [[nodiscard]] std::span<const float> tensor(const std::string& name,
                                                std::span<const std::int64_t> shape) const;
    [[nodiscard]] const std::map<std::string, Tensor>& tensors() const noexcept { return tensors_; }
    [[nodiscard]] const std::map<std::string, std::string>& notes() const noexcept {
        return notes_;
    }

private:
    std::filesystem::path file_;
    std::vector<float> data_;
    std::map<std::string, Tensor> tensors_;
    std::map<std::string, std::string> notes_;
};

}  // namespace rudder::train
