#include "row_format.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "rudder/core/check.hpp"

#include "row_kernels.hpp"

namespace rudder::store {

namespace {

constexpr std::array<std::string_view, 3> precision_names{"native", "float32", "bfloat16"};

std::uint64_t wire_bytes(const graph::FeatureInfo& stored, Precision precision) {
    switch (precision) {
        case Precision::float32:
            return stored.width * sizeof(float);
        case Precision::bfloat16:
            return stored.width * sizeof(std::uint16_t);
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
        case Precision::native:
            break;
    }
    return true;
}

}  // namespace

std::string_view to_string(Precision precision) noexcept {
    return precision_names[static_cast<std::size_t>(precision)];
}

RowFormat::RowFormat(const graph::FeatureInfo& stored, std::span<const float> scale,
                     Precision precision)
    : stored_(stored),
      scale_(scale.begin(), scale.end()),
      precision_(precision),
      row_bytes_(wire_bytes(stored, precision)),
      wire_is_stored_(same_on_wire(stored, precision)) {
    RUDDER_CHECK(graph::is_feature_type(stored.type));
    RUDDER_CHECK(scale_.size() == (stored.type == ElementType::i8 ? stored.width : 0));
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
    if (precision_ == Precision::native) return stored_recipe();
    return {.width = stored_.width,
            .type = precision_ == Precision::float32 ? ElementType::f32 : ElementType::bf16};
}

void RowFormat::encode_rows(std::span<const std::byte* const> stored, std::byte* wire) const {
    if (wire_is_stored_) return pack_rows(stored, row_bytes_, wire);
    constexpr std::size_t group = 16;
    std::array<float*, group> places{};
    const bool floats = precision_ == Precision::float32;
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
        if (floats) {
            std::memcpy(out, rows.data(), count * row_bytes_);
        } else {
            round_row(rows.data(), out, count * width());
        }
    }
}

void RowFormat::decode_rows(std::span<const std::byte* const> wire, float* const* out) const {
    decode_(wire_recipe(), wire, out);
}

void RowFormat::load_rows(std::span<const std::byte* const> stored, float* const* out) const {
    load_(stored_recipe(), stored, out);
}

}  // namespace rudder::store
