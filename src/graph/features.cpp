#include "rudder/graph/features.hpp"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"

#include "row_sum.hpp"

namespace rudder::graph {

namespace {

template <class Stored, class Convert>
void decode(std::span<const std::byte> row, std::span<float> out, Convert&& convert) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        Stored value;
        std::memcpy(&value, row.data() + i * sizeof(Stored), sizeof(Stored));
        out[i] = convert(value, i);
    }
}

/// Calls `bad(row-major position)` at the first element for which `finite` is false.
template <class Stored, class Finite, class Bad>
void scan(std::span<const std::byte> bytes, Finite&& finite, Bad&& bad) {
    const std::size_t count = bytes.size() / sizeof(Stored);
    for (std::size_t i = 0; i < count; ++i) {
        Stored value;
        std::memcpy(&value, bytes.data() + i * sizeof(Stored), sizeof(Stored));
        if (!finite(value)) bad(i);
    }
}

}  // namespace

bool is_feature_type(ElementType type) noexcept {
    switch (type) {
        case ElementType::f32:
        case ElementType::f16:
        case ElementType::bf16:
        case ElementType::i8:
        case ElementType::u8:
            return true;
        default:
            return false;
    }
}

void decode_row(const FeatureInfo& info, std::span<const std::byte> row,
                std::span<const float> scale, std::span<float> out) {
    RUDDER_CHECK(out.size() == info.width && row.size() == info.row_bytes());
    switch (info.type) {
        case ElementType::f32:
            decode<float>(row, out, [](float v, std::size_t) { return v; });
            break;
        case ElementType::f16:
            decode<std::uint16_t>(row, out,
                                  [](std::uint16_t v, std::size_t) { return f16_to_float(v); });
            break;
        case ElementType::bf16:
            decode<std::uint16_t>(row, out,
                                  [](std::uint16_t v, std::size_t) { return bf16_to_float(v); });
            break;
        case ElementType::i8:
            decode<std::int8_t>(row, out, [&](std::int8_t v, std::size_t i) {
                return static_cast<float>(v) * scale[i];
            });
            break;
        case ElementType::u8:
            decode<std::uint8_t>(row, out,
                                 [](std::uint8_t v, std::size_t) { return static_cast<float>(v); });
            break;
        default:
            RUDDER_CHECK(is_feature_type(info.type));
    }
    if (!info.row_normalise) return;
    const float sum = sum_of_magnitudes(out.data(), out.size());
    if (sum == 0) return;
    for (float& value : out)
        value /= sum;
}

void check_finite(const FeatureInfo& info, std::span<const std::byte> rows, VertexId first_row,
                  const std::string& where) {
    const auto bad = [&](std::size_t at) {
        throw input_error("a feature is NaN or infinite",
                          fmt::format("{}, row {}, column {}", where, first_row + at / info.width,
                                      at % info.width),
                          "replace the value, or drop the column");
    };
    switch (info.type) {
        case ElementType::f32:
            scan<float>(
                rows, [](float v) { return std::isfinite(v); }, bad);
            break;
        case ElementType::f16:
            scan<std::uint16_t>(
                rows, [](std::uint16_t v) { return (v & 0x7c00U) != 0x7c00U; }, bad);
            break;
        case ElementType::bf16:
            scan<std::uint16_t>(
                rows, [](std::uint16_t v) { return (v & 0x7f80U) != 0x7f80U; }, bad);
            break;
        default:
            break;
    }
}

}  // namespace rudder::graph
