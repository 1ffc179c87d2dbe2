// Memory of a device and of the host beside it, which grows and is kept.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "device.hpp"

namespace rudder::nn {

/// Hands out stretches of one block of memory, or, of none, counts what they would take.
class Stretches {
public:
    explicit Stretches(std::byte* base = nullptr) noexcept : base_(base) {}
    template <class T>
    [[nodiscard]] T* take(std::size_t count) noexcept {
        const std::size_t offset = bytes_;
        bytes_ += (count * sizeof(T) + 255) / 256 * 256;
        return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + offset);
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    std::byte* base_;
    std::size_t bytes_ = 0;
};

/// One block that grows to the largest size asked for, and an eighth more.
class DeviceMemory {
public:
    enum class Where : std::uint8_t { device, pinned };

    DeviceMemory(std::shared_ptr<Device> device, Where where, std::string what)
        : device_(std::move(device)), where_(where), what_(std::move(what)) {}
    ~DeviceMemory() { release(); }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    /// What was in it is lost where it grows.
    std::byte* fit(std::size_t bytes) {
        if (bytes <= size_ && data_ != nullptr) return data_;
        release();
        const std::size_t more = grown(bytes);
        data_ = where_ == Where::device ? device_->take(more, what_) : device_->take_pinned(more);
        size_ = more;
        return data_;
    }
    /// What so many bytes take.
    [[nodiscard]] static std::size_t grown(std::size_t bytes) noexcept { return bytes + bytes / 8; }
    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    void release() noexcept {
        if (data_ == nullptr) return;
        where_ == Where::device ? device_->give(data_) : device_->give_pinned(data_);
        data_ = nullptr;
        size_ = 0;
    }

    std::shared_ptr<Device> device_;
    Where where_;
    std::string what_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace rudder::nn
