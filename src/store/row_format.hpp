// Feature rows as they travel and are kept: the run's precision.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rudder/graph/features.hpp"
#include "rudder/store/precision.hpp"

#include "column_steps.hpp"
#include "sparse_format.hpp"

namespace rudder::store {

/// A way from elements to floats.
struct RowRecipe {
    std::uint64_t width = 0;
    ElementType type = ElementType::f32;
    bool normalise = false;        ///< divide by the sum of magnitudes
    bool round = false;            ///< to the nearest bfloat16
    const float* scale = nullptr;  ///< one per column for int8
};
/// Turns rows into floats, one after the other; fetches rows to come into the cache.
using RowLoader = void (*)(const RowRecipe&, std::span<const std::byte* const> rows,
                           float* const* out);

/// Whether rows become levels between each column's least and largest value. What is stored in 8
/// bits is in int8 as it is.
[[nodiscard]] bool quantises(const graph::FeatureInfo& stored, Precision precision) noexcept;

/// As what rows are put together for whoever computes with them.
enum class AssembledRows : bool { dense, sparse };

/// That rows travel and are kept sparse, and as what they are assembled.
struct SparseUse {
    NonZeros counted;
    AssembledRows assembled = AssembledRows::dense;
};

/// Counts the non-zeros of some of a data set's rows, as far as the choice asks for it: where a few
/// rows or any one row have too many it may end early.
[[nodiscard]] NonZeros count_for(const graph::FeatureView& rows, SparseChoice choice);
/// Whether a data set's rows are sparse, by what was counted of all of them.
[[nodiscard]] std::optional<SparseUse> sparse_use(const graph::FeatureInfo& stored,
                                                  const NonZeros& counted, SparseChoice choice,
                                                  AssembledRows assembled);

/// How rows of one run look on the wire and in buffers, and the way to floats.
class RowFormat {
public:
    /// `scale` (one number per column for int8, else empty) is copied. `steps` is there exactly
    /// where rows are quantised; sparse ones never are.
    RowFormat(const graph::FeatureInfo& stored, std::span<const float> scale, Precision precision,
              std::optional<ColumnSteps> steps = std::nullopt,
              const std::optional<SparseUse>& sparse = std::nullopt);

    [[nodiscard]] std::uint64_t width() const noexcept { return stored_.width; }
    /// Of one assembled row: the width, or where rows are assembled sparse the memory, counted in
    /// floats, of a SparseEntry for the header and for each non-zero of the largest row.
    [[nodiscard]] std::uint64_t row_floats() const noexcept { return row_floats_; }
    [[nodiscard]] bool assembles_sparse() const noexcept { return assembles_sparse_; }
    /// Of rows that travel and are kept sparse; null: they do not. Precision changes none of them.
    [[nodiscard]] const SparseFormat* sparse() const noexcept {
        return sparse_ ? &*sparse_ : nullptr;
    }
    /// Of one row on the wire.
    [[nodiscard]] std::uint64_t row_bytes() const noexcept { return row_bytes_; }
    /// What a row takes of messages that may be coded, on average: sparse ones travel there without
    /// what fills them up.
    [[nodiscard]] double message_bytes() const noexcept {
        return sparse_ ? sparse_->mean_bytes() : static_cast<double>(row_bytes_);
    }
    [[nodiscard]] Precision precision() const noexcept { return precision_; }
    [[nodiscard]] const graph::FeatureInfo& stored() const noexcept { return stored_; }
    /// Whether encoding is a plain copy.
    [[nodiscard]] bool wire_is_stored() const noexcept { return wire_is_stored_; }
    /// Of quantised rows.
    [[nodiscard]] const std::optional<ColumnSteps>& steps() const noexcept { return steps_; }

    // Of many rows anywhere in memory, `row_bytes` (stored: of the data set) each, and the vertices
    // that they belong to.
    /// From stored rows to the wire's, one after the other.
    void encode_rows(std::span<const std::byte* const> stored, std::span<const VertexId> vertices,
                     std::byte* wire) const;
    /// From the wire to `row_floats` each, where `out` points. What was encoded has the same bits
    /// wherever that is done.
    void decode_rows(std::span<const std::byte* const> wire, std::span<const VertexId> vertices,
                     float* const* out) const;
    /// Both in one: from stored rows to the floats that any rank would get.
    void load_rows(std::span<const std::byte* const> stored, std::span<const VertexId> vertices,
                   float* const* out) const;

private:
    [[nodiscard]] RowRecipe stored_recipe() const noexcept;
    [[nodiscard]] RowRecipe wire_recipe() const noexcept;

    graph::FeatureInfo stored_;
    std::vector<float> scale_;
    Precision precision_;
    std::uint64_t row_bytes_;
    bool wire_is_stored_;
    std::optional<ColumnSteps> steps_;
    RowLoader load_;
    RowLoader decode_;
    std::optional<SparseFormat> sparse_;
    bool assembles_sparse_;
    std::uint64_t row_floats_;
};

}  // namespace rudder::store
