// Sparse feature rows as they travel and are kept: the number of non-zeros, columns, values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rudder/core/element.hpp"
#include "rudder/graph/features.hpp"

namespace rudder::store {

/// What was counted of rows. An element counts unless all of its bits are zero.
struct NonZeros {
    std::uint64_t rows = 0;
    std::uint64_t total = 0;
    std::uint64_t largest = 0;  ///< of one row
    std::uint64_t ones = 0;     ///< of the total, those whose value is 1 as it is stored

    [[nodiscard]] bool all_ones() const noexcept { return ones == total; }
    [[nodiscard]] double mean() const noexcept {
        return rows == 0 ? 0 : static_cast<double>(total) / static_cast<double>(rows);
    }
    NonZeros& operator+=(const NonZeros& other) noexcept;
};

/// The wire's row of a sparse data set: number of non-zeros and columns in 16 bits each where the
/// width is below 65,536, else in 32; then the values in the stored type, none where all of them
/// are 1. What follows, up to the length of the data set's largest row, is zero; coded
/// messages leave it out.
struct SparseLayout {
    SparseLayout(const graph::FeatureInfo& stored, const NonZeros& counted) noexcept;

    [[nodiscard]] std::size_t bytes_of(std::uint64_t non_zeros) const noexcept {
        return index_bytes + non_zeros * (index_bytes + value_bytes);
    }
    [[nodiscard]] std::size_t row_bytes() const noexcept { return bytes_of(largest); }

    std::size_t index_bytes;
    std::size_t value_bytes;
    std::uint64_t largest;
};

/// Counts the non-zeros of rows, on all threads. With `limit` it may end early, with any number
/// above it as the largest, once a row has more.
[[nodiscard]] NonZeros count_non_zeros(const graph::FeatureView& rows, std::uint64_t limit);

/// The same of some rows spread evenly over all: a first look that reads little.
[[nodiscard]] NonZeros sample_non_zeros(const graph::FeatureView& rows);

/// Whether rows are to be sparse, by what the whole data set holds: the largest sparse row is at
/// most a quarter of a stored one.
[[nodiscard]] bool pays_sparse(const graph::FeatureInfo& stored, const NonZeros& counted) noexcept;

/// The most non-zeros that a row may have where `pays_sparse` holds, whatever the values.
[[nodiscard]] std::uint64_t most_non_zeros(const graph::FeatureInfo& stored) noexcept;

/// The way from and to sparse rows. Their floats are those of the dense row, bit for bit: a row
/// that is normalised is divided by the same sum.
class SparseFormat {
public:
    /// `scale` (one number per column for int8, else empty) is copied.
    SparseFormat(const graph::FeatureInfo& stored, std::span<const float> scale,
                 const NonZeros& counted);

    [[nodiscard]] std::size_t row_bytes() const noexcept { return layout_.row_bytes(); }
    [[nodiscard]] const NonZeros& counted() const noexcept { return counted_; }
    /// Of a row in memory: its header and the largest row's non-zeros.
    [[nodiscard]] std::size_t row_entries() const noexcept { return 1 + layout_.largest; }
    /// Of the wire row that some bytes begin with, without what fills it up; nothing if they do not
    /// hold one.
    [[nodiscard]] std::optional<std::size_t> used_bytes(
        std::span<const std::byte> wire) const noexcept;
    /// The same of all rows of the data set, on average.
    [[nodiscard]] double mean_bytes() const noexcept {
        return static_cast<double>(layout_.index_bytes) +
               counted_.mean() * static_cast<double>(layout_.index_bytes + layout_.value_bytes);
    }

    void encode(const std::byte* stored, std::byte* wire) const;
    /// `out` has row_entries.
    void decode(const std::byte* wire, SparseEntry* out) const;
    void load(const std::byte* stored, SparseEntry* out) const;
    /// `out` has the width's floats.
    void decode_dense(const std::byte* wire, float* out) const;

private:
    graph::FeatureInfo stored_;
    std::vector<float> scale_;
    NonZeros counted_;
    SparseLayout layout_;
    bool ones_;
};

}  // namespace rudder::store
