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

/// How many sparse rows ahead memory is asked for, and how much of each: most of them are short.
constexpr std::size_t sparse_rows_ahead = 6;
constexpr std::size_t sparse_bytes_ahead = 256;

/// Calls `f(row, i)` for rows anywhere in memory.
template <class F>
void each_sparse_row(std::span<const std::byte* const> rows, std::size_t row_bytes, F&& f) {
    const std::size_t fetched = std::min(row_bytes, sparse_bytes_ahead);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i + sparse_rows_ahead < rows.size()) {
            for (std::size_t at = 0; at < fetched; at += 64)
                __builtin_prefetch(rows[i + sparse_rows_ahead] + at);
        }
        f(rows[i], i);
    }
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

NonZeros count_for(const graph::FeatureView& rows, SparseChoice choice) {
    if (choice == SparseChoice::off) return {};
    const std::uint64_t limit =
        choice == SparseChoice::on ? rows.info.width : most_non_zeros(rows.info);
    const NonZeros look = sample_non_zeros(rows);
    return look.largest > limit ? look : count_non_zeros(rows, limit);
}

std::optional<SparseUse> sparse_use(const graph::FeatureInfo& stored, const NonZeros& counted,
                                    SparseChoice choice, AssembledRows assembled) {
    if (choice == SparseChoice::off) return std::nullopt;
    if (choice == SparseChoice::choose && !pays_sparse(stored, counted)) return std::nullopt;
    return SparseUse{.counted = counted, .assembled = assembled};
}

RowFormat::RowFormat(const graph::FeatureInfo& stored, std::span<const float> scale,
                     Precision precision, std::optional<ColumnSteps> steps,
                     const std::optional<SparseUse>& sparse)
    : stored_(stored),
      scale_(scale.begin(), scale.end()),
      precision_(sparse ? Precision::native : precision),
      row_bytes_(wire_bytes(stored, precision_)),
      wire_is_stored_(!sparse && same_on_wire(stored, precision_)),
      steps_(std::move(steps)),
      assembles_sparse_(sparse && sparse->assembled == AssembledRows::sparse),
      row_floats_(stored.width) {
    RUDDER_CHECK(graph::is_feature_type(stored.type));
    RUDDER_CHECK(scale_.size() == (stored.type == ElementType::i8 ? stored.width : 0));
    RUDDER_CHECK(steps_.has_value() == quantises(stored, precision_));
    RUDDER_CHECK(!steps_ || (steps_->width == stored.width &&
                             row_bytes_ == quantised_bytes(stored.width, steps_->levels)));
    load_ = row_loader(stored_recipe());
    decode_ = row_loader(wire_recipe());
    if (!sparse) return;
    sparse_.emplace(stored, scale, sparse->counted);
    row_bytes_ = sparse_->row_bytes();
    if (assembles_sparse_)
        row_floats_ = sparse_->row_entries() * (sizeof(SparseEntry) / sizeof(float));
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
    if (sparse_) {
        for (std::size_t i = 0; i < stored.size(); ++i)
            sparse_->encode(stored[i], wire + i * row_bytes_);
        return;
    }
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
    if (steps_) return quantise_kernels().dequantise(*steps_, vertices, wire.data(), out);
    if (!sparse_) return decode_(wire_recipe(), wire, out);
    each_sparse_row(wire, row_bytes_, [&](const std::byte* row, std::size_t i) {
        if (assembles_sparse_) {
            sparse_->decode(row, reinterpret_cast<SparseEntry*>(out[i]));
        } else {
            sparse_->decode_dense(row, out[i]);
        }
    });
}

void RowFormat::load_rows(std::span<const std::byte* const> stored,
                          std::span<const VertexId> vertices, float* const* out) const {
    RUDDER_CHECK_NORMAL(stored.size() == vertices.size());
    if (!assembles_sparse_) {
        load_(stored_recipe(), stored, out);
        if (steps_) quantise_kernels().round(*steps_, vertices, out);
        return;
    }
    for (std::size_t i = 0; i < stored.size(); ++i)
        sparse_->load(stored[i], reinterpret_cast<SparseEntry*>(out[i]));
}

}  // namespace rudder::store
