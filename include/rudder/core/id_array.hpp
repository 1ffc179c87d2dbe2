// Arrays of vertex ids stored in 32 bits where all of them fit, in 64 where not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "rudder/core/array.hpp"
#include "rudder/core/types.hpp"

namespace rudder {

/// A view of ids of either width. Hot code calls `visit` once per array, outside its loops.
class IdSpan {
public:
    IdSpan() = default;
    IdSpan(std::span<const std::uint32_t> ids)  // NOLINT(google-explicit-constructor): a view
        : data_(ids.data()), size_(ids.size()) {}
    IdSpan(std::span<const std::uint64_t> ids)  // NOLINT(google-explicit-constructor): a view
        : data_(ids.data()), size_(ids.size()), wide_(true) {}

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool wide() const noexcept { return wide_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return size_ * (wide_ ? 8 : 4); }

    /// Calls `f` with a span of std::uint32_t or of std::uint64_t.
    template <class F>
    decltype(auto) visit(F&& f) const {
        if (wide_)
            return std::forward<F>(f)(std::span(static_cast<const std::uint64_t*>(data_), size_));
        return std::forward<F>(f)(std::span(static_cast<const std::uint32_t*>(data_), size_));
    }
    /// One id; for code that is not hot.
    [[nodiscard]] VertexId operator[](std::size_t i) const noexcept {
        return wide_ ? static_cast<const std::uint64_t*>(data_)[i]
                     : static_cast<const std::uint32_t*>(data_)[i];
    }
    [[nodiscard]] std::span<const std::byte> as_bytes() const noexcept {
        return {static_cast<const std::byte*>(data_), bytes()};
    }

private:
    const void* data_ = nullptr;
    std::size_t size_ = 0;
    bool wide_ = false;
};

/// An owned or mapped array of ids of either width.
class IdArray {
public:
    IdArray() = default;
    explicit IdArray(Array<std::uint32_t> ids) : ids_(std::move(ids)) {}
    explicit IdArray(Array<std::uint64_t> ids) : ids_(std::move(ids)) {}

    /// Whether ids below `vertices` need 64 bits.
    [[nodiscard]] static bool needs_wide(VertexId vertices) noexcept {
        return vertices > (VertexId{1} << 32);
    }

    [[nodiscard]] IdSpan span() const {
        return std::visit([](const auto& array) { return IdSpan(array.span()); }, ids_);
    }
    [[nodiscard]] std::size_t size() const {
        return std::visit([](const auto& array) { return array.size(); }, ids_);
    }

private:
    std::variant<Array<std::uint32_t>, Array<std::uint64_t>> ids_;
};

}  // namespace rudder
