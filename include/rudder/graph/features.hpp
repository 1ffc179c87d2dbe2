// Feature rows: their element type, and the way from stored elements to floats.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "rudder/core/element.hpp"
#include "rudder/core/types.hpp"

namespace rudder::graph {

/// What a data set's feature rows are. Integers stay integers on disk and on the wire; `int8` has a
/// scale per column, applied (like the row normalisation) when a batch is assembled.
struct FeatureInfo {
    std::uint64_t width = 0;  ///< columns; 0 means no features
    ElementType type = ElementType::f32;
    bool row_normalise = false;  ///< divide each row by the sum of its absolute values

    [[nodiscard]] bool present() const noexcept { return width != 0; }
    [[nodiscard]] std::uint64_t row_bytes() const noexcept { return width * element_size(type); }
};

/// Whether features may be stored in this type: float32, float16, bfloat16, int8, uint8.
[[nodiscard]] bool is_feature_type(ElementType type) noexcept;

/// A view of rows as they are stored.
struct FeatureView {
    FeatureInfo info;
    VertexId rows = 0;
    const std::byte* data = nullptr;
    std::span<const float> scale;  ///< one per column for int8, else empty

    [[nodiscard]] std::span<const std::byte> row(VertexId v) const noexcept {
        return {data + v * info.row_bytes(), info.row_bytes()};
    }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {data, rows * info.row_bytes()};
    }
};

/// Decodes one stored row to floats: scale and row normalisation applied. `out` has `width` floats.
void decode_row(const FeatureInfo& info, std::span<const std::byte> row,
                std::span<const float> scale, std::span<float> out);

/// Throws an input Error naming `array`, row and column if a float element of `rows` whole rows,
/// the first of them row `first_row`, is NaN or infinite.
void check_finite(const FeatureInfo& info, std::span<const std::byte> rows, VertexId first_row,
                  const std::string& where);

}  // namespace rudder::graph
