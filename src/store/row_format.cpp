#include "row_format.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "rudder/core/check.hpp"

#include "quantise.hpp"
#include "row_kernels.hpp"

namespace rudder::store {

namespace {

constexpr std::array<std::string_view, 5> precision_names{"native", "float32", "bfloat16", "int8",
                                                          "int4"};

bool in_bytes(const graph::FeatureInfo& stored) {
    return stored.type == ElementType::i8 || stored.type == ElementType::u8;
}

std::uint64_t wire_bytes(const graph::FeatureInfo& stored, Precision precision) {
    switch (precision) {
        case Precision::float32:
            return stored.width * sizeof(float);
        case Precision::bfloat16:
            return stored.width * sizeof(std::uint16_t);
        case Precision::int4:
            return quantised_bytes(stored.width, 15);
        case Precision::int8:
            return stored.width;
        case Precision::native:
            break;
    }
    return stored.row_bytes();
}

bool same_on_wire(const graph::FeatureInfo& stored, Precision precision) {
    switch (precision) {
        case Precision::float32:
            return stored.type == ElementType::f32 && !stored.row_normalise;
        case Precision::bfloat16:
            return stored.type == ElementType::bf16 && !stored.row_normalise;
        case Precision::int8:
            return in_bytes(stored);  // normalised by whoever reads it
        case Precision::int4:
            return false;
        case Precision::native:
            break;
    }
    return true;
}

}  // namespace

std::string_view to_string(Precision precision) noexcept {
    return precision_names[static_cast<std::size_t>(precision)];
}

bool quantises(const graph::FeatureInfo& stored, Precision precision) noexcept {
    return precision == Precision::int4 || (precision == Precision::int8 && !in_bytes(stored));
}

RowFormat::RowFormat(const graph::FeatureInfo& stored, std::span<const float> scale,
                     Precision precision, std::optional<ColumnSteps> steps)
    : stored_(stored),
      scale_(scale.begin(), scale.end()),
      precision_(precision),
      row_bytes_(wire_bytes(stored, precision)),
      wire_is_stored_(same_on_wire(stored, precision)),
      steps_(std::move(steps)) {
    RUDDER_CHECK(graph::is_feature_type(stored.type));
    RUDDER_CHECK(scale_.size() == (stored.type == ElementType::i8 ? stored.width : 0));
    RUDDER_CHECK(steps_.has_value() == quantises(stored, precision));
    RUDDER_CHECK(!steps_ || (steps_->width == stored.width &&
                             row_bytes_ == quantised_bytes(stored.width, steps_->levels)));
    load_ = row_loader(stored_recipe());
    decode_ = row_loader(wire_recipe());
}

RowRecipe RowFormat::stored_recipe() const noexcept {
    return {.width = stored_.width,
            .type = stored_.type,
            .normalise = stored_.row_normalise,
            .round = precision_ == Precision::bfloat16 && !wire_is_stored_,
            .scale = scale_.data()};
}

RowRecipe RowFormat::wire_recipe() const noexcept {
    // Quantised rows have a way of their own.
    if (precision_ != Precision::float32 && precision_ != Precision::bfloat16)
        return stored_recipe();
    return {.width = stored_.width,
            .type = precision_ == Precision::float32 ? ElementType::f32 : ElementType::bf16};
}

void RowFormat::encode_rows(std::span<const std::byte* const> stored,
                            std::span<const VertexId> vertices, std::byte* wire) const {
    RUDDER_CHECK_NORMAL(stored.size() == vertices.size());
    if (wire_is_stored_) return pack_rows(stored, row_bytes_, wire);
    constexpr std::size_t group = 16;
    std::array<float*, group> places{};
    // Floats are aligned in the wire's rows only where whoever gave the memory aligned it.
    std::vector<float> rows(group * width());
    for (std::size_t i = 0; i < group; ++i)
        places[i] = rows.data() + i * width();
    RowRecipe recipe = stored_recipe();
    recipe.round = false;
    for (std::size_t at = 0; at < stored.size(); at += group) {
        const std::size_t count = std::min(group, stored.size() - at);
        load_(recipe, stored.subspan(at, count), places.data());
        std::byte* out = wire + at * row_bytes_;
        if (steps_) {
            quantise_kernels().quantise(*steps_, vertices.subspan(at, count), rows.data(), out);
        } else if (precision_ == Precision::float32) {
            std::memcpy(out, rows.data(), count * row_bytes_);
        } else {
            round_row(rows.data(), out, count * width());
        }
    }
}

void RowFormat::decode_rows(std::span<const std::byte* const> wire,
                            std::span<const VertexId> vertices, float* const* out) const {
    RUDDER_CHECK_NORMAL(wire.size() == vertices.size());
    if (!steps_) return decode_(wire_recipe(), wire, out);
    quantise_kernels().dequantise(*steps_, vertices, wire.data(), out);
}

void RowFormat::load_rows(std::span<const std::byte* const> stored,
                          std::span<const VertexId> vertices, float* const* out) const {
    RUDDER_CHECK_NORMAL(stored.size() == vertices.size());
    load_(stored_recipe(), stored, out);
    if (steps_) quantise_kernels().round(*steps_, vertices, out);
}

}  // namespace rudder::store
