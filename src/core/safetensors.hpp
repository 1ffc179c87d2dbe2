// The safetensors format: named tensors in one file, readable from Python.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/function_ref.hpp"

namespace rudder {

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

enum class TensorType : std::uint8_t { float32, bfloat16 };

/// What a reader takes, and what it says of a file that will not do.
struct TensorRules {
    bool bfloat16 = false;                         ///< such tensors, too
    std::uint64_t most_bytes = ~std::uint64_t{0};  ///< of the file
    std::string_view noun = "checkpoint";          ///< to use another one
};

/// A file of tensors, read whole. What is not such a file, is cut short, or has tensors that the
/// rules do not take, is an input Error that names it.
class Safetensors {
public:
    explicit Safetensors(const std::filesystem::path& file, const TensorRules& rules = {});
    /// The same of a file's bytes; errors call them `name`.
    Safetensors(std::span<const std::byte> bytes, const std::string& name,
                const TensorRules& rules = {});

    struct Tensor {
        std::vector<std::int64_t> shape;
        TensorType type = TensorType::float32;
        std::span<const std::byte> bytes;
        std::span<const float> values;  ///< of float32
    };
    /// The float32 tensor of that name; an input Error naming file and tensor if there is none, or
    /// if it has another shape than `shape`.
    [[nodiscard]] std::span<const float> tensor(const std::string& name,
                                                std::span<const std::int64_t> shape) const;
    /// The same of either type, as float32.
    [[nodiscard]] std::vector<float> widened(const std::string& name,
                                             std::span<const std::int64_t> shape) const;
    [[nodiscard]] const std::map<std::string, Tensor>& tensors() const noexcept { return tensors_; }
    [[nodiscard]] const std::map<std::string, std::string>& notes() const noexcept {
        return notes_;
    }
    /// Everything behind the header.
    [[nodiscard]] std::span<const std::byte> data() const noexcept {
        return std::as_bytes(std::span(data_)).first(bytes_);
    }

private:
    /// Copies the bytes from there on, as many as there are; how many those were.
    using ReadAt = FunctionRef<std::uint64_t(std::uint64_t at, std::span<std::byte> to)>;
    void take(std::uint64_t size, ReadAt read, const TensorRules& rules);
    [[nodiscard]] const Tensor& found(const std::string& name,
                                      std::span<const std::int64_t> shape) const;

    std::filesystem::path file_;
    std::vector<float> data_;
    std::uint64_t bytes_ = 0;  ///< of the data
    std::map<std::string, Tensor> tensors_;
    std::map<std::string, std::string> notes_;
};

}  // namespace rudder
