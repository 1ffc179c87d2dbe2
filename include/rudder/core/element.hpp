// The element types arrays may have on disk and on the wire, and the 16-bit floats among them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rudder {

/// The type of an array's elements.
enum class ElementType : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };

/// Its name in manifests: "uint8", "bfloat16", ...
[[nodiscard]] std::string_view to_string(ElementType type) noexcept;
/// The type of that name, if there is one.
[[nodiscard]] std::optional<ElementType> element_type(std::string_view name) noexcept;
[[nodiscard]] std::size_t element_size(ElementType type) noexcept;

template <class T>
inline constexpr ElementType element_type_of = [] {
    static_assert(sizeof(T) == 0, "no element type for this C++ type");
    return ElementType::u8;
}();
template <>
inline constexpr ElementType element_type_of<std::uint8_t> = ElementType::u8;
template <>
inline constexpr ElementType element_type_of<std::int8_t> = ElementType::i8;
template <>
inline constexpr ElementType element_type_of<std::uint16_t> = ElementType::u16;
template <>
inline constexpr ElementType element_type_of<std::int16_t> = ElementType::i16;
template <>
inline constexpr ElementType element_type_of<std::uint32_t> = ElementType::u32;
template <>
inline constexpr ElementType element_type_of<std::int32_t> = ElementType::i32;
template <>
inline constexpr ElementType element_type_of<std::uint64_t> = ElementType::u64;
template <>
inline constexpr ElementType element_type_of<std::int64_t> = ElementType::i64;
template <>
inline constexpr ElementType element_type_of<float> = ElementType::f32;
template <>
inline constexpr ElementType element_type_of<double> = ElementType::f64;

/// One non-zero of a sparse row. A sparse row in memory is a header, whose column is the number of
/// its non-zeros, and then these, ascending by column.
struct SparseEntry {
    std::uint32_t column = 0;
    float value = 0;
};

/// bfloat16 to float: exact.
[[nodiscard]] constexpr float bf16_to_float(std::uint16_t bits) noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// float to bfloat16, to nearest, ties to even; a NaN stays a NaN.
[[nodiscard]] constexpr std::uint16_t float_to_bf16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U) {
        return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
    }
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// IEEE half to float: exact.
[[nodiscard]] float f16_to_float(std::uint16_t bits) noexcept;
/// float to IEEE half, to nearest, ties to even.
[[nodiscard]] std::uint16_t float_to_f16(float value) noexcept;

}  // namespace rudder
