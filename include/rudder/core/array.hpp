// Arrays that own their memory or map a file, behind one span-like view.
#pragma once

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <type_traits>
#include <utility>

#include "rudder/core/check.hpp"
#include "rudder/core/checked.hpp"

namespace rudder {

/// A block of bytes: allocated (64-byte aligned, on huge pages where large) or mapped from a file.
class Region {
public:
    /// Fresh memory; not zeroed when small. Large blocks come from the kernel as zeroes.
    [[nodiscard]] static Region allocate(std::size_t bytes);
    /// Fresh memory that child processes share (for work done in a fork).
    [[nodiscard]] static Region allocate_shared(std::size_t bytes);
    /// A file, read-only; pages are read when touched. An empty file gives an empty region.
    [[nodiscard]] static Region map(const std::filesystem::path& path);

    Region() = default;
    Region(Region&& other) noexcept { swap(other); }
    Region& operator=(Region&& other) noexcept {
        swap(other);
        return *this;
    }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    ~Region();

    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool mapped_file() const noexcept { return kind_ == Kind::file; }

private:
    enum class Kind : unsigned char { none, heap, pages, file };

    void swap(Region& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(kind_, other.kind_);
    }

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    Kind kind_ = Kind::none;
};

/// A fixed-size array of trivial elements in a Region. Move-only; its view is `span()`.
template <class T>
requires std::is_trivially_copyable_v<T>
class Array {
public:
    Array() = default;

    /// `count` elements with unspecified values.
    [[nodiscard]] static Array uninitialised(std::size_t count) {
        return Array(Region::allocate(checked_mul(count, sizeof(T), "array size")), count);
    }
    /// `count` elements, all zero.
    [[nodiscard]] static Array zeroed(std::size_t count) {
        Array array = uninitialised(count);
        if (count != 0) std::memset(static_cast<void*>(array.data()), 0, count * sizeof(T));
        return array;
    }
    /// A copy of `values`.
    [[nodiscard]] static Array copy_of(std::span<const T> values) {
        Array array = uninitialised(values.size());
        if (!values.empty()) std::memcpy(array.data(), values.data(), values.size_bytes());
        return array;
    }
    /// The elements of a mapped file, whose size must be a multiple of the element's.
    [[nodiscard]] static Array adopt(Region region) {
        RUDDER_CHECK(region.size() % sizeof(T) == 0);
        const std::size_t count = region.size() / sizeof(T);
        return Array(std::move(region), count);
    }

    [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(region_.data()); }
    [[nodiscard]] const T* data() const noexcept {
        return reinterpret_cast<const T*>(region_.data());
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::span<T> span() noexcept { return {data(), size_}; }
    [[nodiscard]] std::span<const T> span() const noexcept { return {data(), size_}; }
    T& operator[](std::size_t i) noexcept { return data()[i]; }
    const T& operator[](std::size_t i) const noexcept { return data()[i]; }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }

    /// Forgets the elements past `count`; the memory stays.
    void shrink(std::size_t count) noexcept {
        if (count < size_) size_ = count;
    }

private:
    Array(Region region, std::size_t count) : region_(std::move(region)), size_(count) {}

    Region region_;
    std::size_t size_ = 0;
};

}  // namespace rudder
