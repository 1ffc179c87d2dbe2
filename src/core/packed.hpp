// Records as bytes, for other ranks of the same program: what a type's list of fields says.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "rudder/core/check.hpp"
#include "rudder/core/fields.hpp"

namespace rudder {

/// A value whose text says all of it: a spec.
template <class T>
concept Spelled = requires(const T& value) {
    { value.text() } -> std::convertible_to<std::string>;
    { T::parse(value.text()) } -> std::same_as<T>;
};

/// Puts values one after the other.
class Packer {
public:
    template <class T>
    void put(const T& value) {
        if constexpr (Listed<T>) {
            for_each_field<T>([&](const auto& f) { put(value.*f.member); });
        } else if constexpr (Spelled<T>) {
            put(value.text());
        } else {
            static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
            const auto bytes = std::as_bytes(std::span(&value, 1));
            bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        }
    }
    void put(const std::string& text) {
        put(std::uint64_t{text.size()});
        const auto bytes = std::as_bytes(std::span(text));
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    template <class T>
    void put(const std::vector<T>& values) {
        put(std::uint64_t{values.size()});
        for (const T& value : values)
            put(value);
    }
    template <class T>
    void put(const std::optional<T>& value) {
        put(value.has_value());
        if (value) put(*value);
    }
    template <class... Ts>
    void put(const std::variant<Ts...>& value) {
        put(static_cast<std::uint8_t>(value.index()));
        std::visit([&](const auto& held) { put(held); }, value);
    }

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::vector<std::byte> take() noexcept { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

/// Takes them out again, in the same order.
class Unpacker {
public:
    explicit Unpacker(std::span<const std::byte> bytes) : left_(bytes) {}

    [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
    template <class T>
    [[nodiscard]] T take() {
        T value{};
        take(value);
        return value;
    }
    template <class T>
    void take(T& value) {
        if constexpr (Listed<T>) {
            for_each_field<T>([&](const auto& f) { take(value.*f.member); });
        } else if constexpr (Spelled<T>) {
            value = T::parse(take<std::string>());
        } else {
            static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
            const auto bytes = cut(sizeof(T));
            std::memcpy(&value, bytes.data(), sizeof(T));
        }
    }
    void take(std::string& text) {
        const auto bytes = cut(take<std::uint64_t>());
        text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    template <class T>
    void take(std::vector<T>& values) {
        const auto count = take<std::uint64_t>();
        RUDDER_CHECK(count <= left_.size());
        values.resize(count);
        for (T& value : values)
            take(value);
    }
    template <class T>
    void take(std::optional<T>& value) {
        value.reset();
        if (take<bool>()) take(value.emplace());
    }
    template <class... Ts>
    void take(std::variant<Ts...>& value) {
        const auto index = take<std::uint8_t>();
        std::uint8_t at = 0;
        const auto take_if = [&]<class T>(std::type_identity<T>) {
            if (at++ == index) value = take<T>();
        };
        (take_if(std::type_identity<Ts>{}), ...);
    }

private:
    [[nodiscard]] std::span<const std::byte> cut(std::size_t count) {
        RUDDER_CHECK(count <= left_.size());
        const auto bytes = left_.first(count);
        left_ = left_.subspan(count);
        return bytes;
    }

    std::span<const std::byte> left_;
};

/// A value as bytes.
template <class T>
[[nodiscard]] std::vector<std::byte> packed(const T& value) {
    Packer packer;
    packer.put(value);
    return packer.take();
}

/// The value that `bytes` hold; nothing may be left of them.
template <class T>
[[nodiscard]] T unpacked(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    T value = unpacker.take<T>();
    RUDDER_CHECK(unpacker.empty());
    return value;
}

}  // namespace rudder
