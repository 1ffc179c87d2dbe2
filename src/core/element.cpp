#include "rudder/core/element.hpp"

#include <array>

namespace rudder {

namespace {

struct Entry {
    ElementType type;
    std::string_view name;
    std::size_t size;
};

constexpr std::array<Entry, 12> entries{{
    {ElementType::u8, "uint8", 1},
    {ElementType::i8, "int8", 1},
    {ElementType::u16, "uint16", 2},
    {ElementType::i16, "int16", 2},
    {ElementType::u32, "uint32", 4},
    {ElementType::i32, "int32", 4},
    {ElementType::u64, "uint64", 8},
    {ElementType::i64, "int64", 8},
    {ElementType::f16, "float16", 2},
    {ElementType::bf16, "bfloat16", 2},
    {ElementType::f32, "float32", 4},
    {ElementType::f64, "float64", 8},
}};

}  // namespace

std::string_view to_string(ElementType type) noexcept {
    return entries[static_cast<std::size_t>(type)].name;
}

std::optional<ElementType> element_type(std::string_view name) noexcept {
    for (const Entry& entry : entries) {
        if (entry.name == name) return entry.type;
    }
    return std::nullopt;
}

std::size_t element_size(ElementType type) noexcept {
    return entries[static_cast<std::size_t>(type)].size;
}

float f16_to_float(std::uint16_t bits) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    std::uint32_t exponent = (bits >> 10) & 0x1fU;
    std::uint32_t mantissa = bits & 0x3ffU;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
    if (exponent == 0) {
        if (mantissa == 0) return std::bit_cast<float>(sign);
        exponent = 1;  // a subnormal half is a normal float: shift its leading one into place
        while ((mantissa & 0x400U) == 0) {
            mantissa <<= 1;
            --exponent;
        }
        mantissa &= 0x3ffU;
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_f16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
    if (magnitude >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
    if (magnitude < 0x38800000U) {  // subnormal or zero: let the float unit round at bit 24
        const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
        return static_cast<std::uint16_t>(
            sign | (std::bit_cast<std::uint32_t>(rounded) - std::bit_cast<std::uint32_t>(0.5F)));
    }
    const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

}  // namespace rudder
