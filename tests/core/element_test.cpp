// Element types, and every value the 16-bit floats have.
#include "rudder/core/element.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "rudder/core/random.hpp"

namespace rudder {
namespace {

bool is_nan16(std::uint16_t bits, std::uint16_t exponent_mask) {
    return (bits & 0x7fffU) > exponent_mask;
}

/// The value of a half by its definition, in double.
double half_by_definition(std::uint16_t bits) {
    const int exponent = (bits >> 10) & 0x1f;
    const int mantissa = bits & 0x3ff;
    const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
    if (exponent == 31) return sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(mantissa, -24);
    return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(ElementType, NamesGoBothWays) {
    for (int i = 0; i <= static_cast<int>(ElementType::f64); ++i) {
        const auto type = static_cast<ElementType>(i);
        EXPECT_EQ(element_type(to_string(type)), type);
        EXPECT_GT(element_size(type), 0U);
    }
    EXPECT_EQ(element_type("float128"), std::nullopt);
    EXPECT_EQ(element_type(""), std::nullopt);
    EXPECT_EQ(to_string(ElementType::bf16), "bfloat16");
}

TEST(ElementType, SizesAreThoseOfTheCppTypes) {
    EXPECT_EQ(element_size(element_type_of<std::uint8_t>), sizeof(std::uint8_t));
    EXPECT_EQ(element_size(element_type_of<std::int16_t>), sizeof(std::int16_t));
    EXPECT_EQ(element_size(element_type_of<std::uint32_t>), sizeof(std::uint32_t));
    EXPECT_EQ(element_size(element_type_of<std::int64_t>), sizeof(std::int64_t));
    EXPECT_EQ(element_size(element_type_of<float>), sizeof(float));
    EXPECT_EQ(element_size(element_type_of<double>), sizeof(double));
    EXPECT_EQ(element_size(ElementType::f16), 2U);
    EXPECT_EQ(element_size(ElementType::bf16), 2U);
}

TEST(Half, EveryValueIsExactAndComesBack) {
    for (std::uint32_t i = 0; i < 65536; ++i) {
        const auto bits = static_cast<std::uint16_t>(i);
        const float value = f16_to_float(bits);
        if (is_nan16(bits, 0x7c00)) {
            ASSERT_TRUE(std::isnan(value)) << i;
            ASSERT_TRUE(is_nan16(float_to_f16(value), 0x7c00)) << i;
        } else {
            ASSERT_EQ(static_cast<double>(value), half_by_definition(bits)) << i;
            ASSERT_EQ(float_to_f16(value), bits) << i;
        }
    }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
    for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
        const float below = f16_to_float(bits);
        const float above = f16_to_float(static_cast<std::uint16_t>(bits + 1));
        const float middle = below + (above - below) / 2;  // exact: floats have bits to spare
        const auto even = static_cast<std::uint16_t>(bits + (bits & 1U));
        ASSERT_EQ(float_to_f16(middle), even) << bits;
        ASSERT_EQ(float_to_f16(std::nextafter(middle, below)), bits) << bits;
        ASSERT_EQ(float_to_f16(std::nextafter(middle, above)), bits + 1) << bits;
        ASSERT_EQ(float_to_f16(-middle), even | 0x8000U) << bits;
    }
}

TEST(Half, OverflowsToInfinityAndUnderflowsToZero) {
    EXPECT_EQ(float_to_f16(65504.0F), 0x7bff);
    EXPECT_EQ(float_to_f16(65519.996F), 0x7bff);
    EXPECT_EQ(float_to_f16(65520.0F), 0x7c00);
    EXPECT_EQ(float_to_f16(-1e30F), 0xfc00);
    EXPECT_EQ(float_to_f16(std::numeric_limits<float>::denorm_min()), 0);
    EXPECT_EQ(float_to_f16(-0.0F), 0x8000);
}

TEST(Bfloat16, EveryValueIsExactAndComesBack) {
    for (std::uint32_t i = 0; i < 65536; ++i) {
        const auto bits = static_cast<std::uint16_t>(i);
        const float value = bf16_to_float(bits);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(value), i << 16);
        if (is_nan16(bits, 0x7f80)) {
            ASSERT_TRUE(is_nan16(float_to_bf16(value), 0x7f80)) << i;
        } else {
            ASSERT_EQ(float_to_bf16(value), bits) << i;
        }
    }
}

TEST(Bfloat16, RoundsToTheNearestAndTiesToEven) {
    for (std::uint32_t high = 0; high < 0x7f80; ++high) {
        const std::uint32_t even = high + (high & 1U);
        ASSERT_EQ(float_to_bf16(std::bit_cast<float>((high << 16) | 0x7fffU)), high);
        ASSERT_EQ(float_to_bf16(std::bit_cast<float>((high << 16) | 0x8000U)), even);
        ASSERT_EQ(float_to_bf16(std::bit_cast<float>((high << 16) | 0x8001U)), high + 1);
    }
}

TEST(Bfloat16, ANanWithLowBitsOnlyStaysANan) {
    EXPECT_TRUE(is_nan16(float_to_bf16(std::bit_cast<float>(0x7f800001U)), 0x7f80));
    EXPECT_TRUE(is_nan16(float_to_bf16(std::bit_cast<float>(0xffffffffU)), 0x7f80));
}

}  // namespace
}  // namespace rudder
