// Compiled without contraction of multiply and add (see CMakeLists.txt): the floats are those of
// dense rows.
#include "sparse_format.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "graph/row_sum.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::store {

namespace {

/// A type of elements: how it lies in memory, what it is worth, and the bits of 1.
template <class Bits, ElementType Type>
struct SparseValue {
    using Stored = Bits;
    static float value(Bits bits, const float* scale, std::uint64_t column) noexcept {
        if constexpr (Type == ElementType::f32) return std::bit_cast<float>(bits);
        if constexpr (Type == ElementType::f16) return f16_to_float(bits);
        if constexpr (Type == ElementType::bf16) return bf16_to_float(bits);
        if constexpr (Type == ElementType::i8)
            return static_cast<float>(std::bit_cast<std::int8_t>(bits)) * scale[column];
        if constexpr (Type == ElementType::u8) return static_cast<float>(bits);
    }
    /// None of int8, whose elements are times a scale.
    static constexpr bool has_one = Type != ElementType::i8;
    static constexpr Bits one = Type == ElementType::f32    ? Bits(0x3f800000U)
                                : Type == ElementType::f16  ? Bits(0x3c00U)
                                : Type == ElementType::bf16 ? Bits(0x3f80U)
                                                            : Bits(1U);
};

/// Calls `f` with the SparseValue of a type.
template <class F>
decltype(auto) with_value(ElementType type, F&& f) {
    switch (type) {
        case ElementType::f32:
            return f(SparseValue<std::uint32_t, ElementType::f32>{});
        case ElementType::f16:
            return f(SparseValue<std::uint16_t, ElementType::f16>{});
        case ElementType::bf16:
            return f(SparseValue<std::uint16_t, ElementType::bf16>{});
        case ElementType::i8:
            return f(SparseValue<std::uint8_t, ElementType::i8>{});
        default:
            return f(SparseValue<std::uint8_t, ElementType::u8>{});
    }
}

template <class T>
T read_at(const std::byte* from, std::size_t index) noexcept {
    T value;
    std::memcpy(&value, from + index * sizeof(T), sizeof(T));
    return value;
}
template <class T>
void write_at(std::byte* to, std::size_t index, T value) noexcept {
    std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

std::uint64_t read_index(const std::byte* from, std::size_t bytes, std::size_t index) noexcept {
    return bytes == sizeof(std::uint16_t) ? read_at<std::uint16_t>(from, index)
                                          : read_at<std::uint32_t>(from, index);
}
void write_index(std::byte* to, std::size_t bytes, std::size_t index,
                 std::uint64_t value) noexcept {
    if (bytes == sizeof(std::uint16_t)) {
        write_at(to, index, static_cast<std::uint16_t>(value));
    } else {
        write_at(to, index, static_cast<std::uint32_t>(value));
    }
}

/// Calls `f(column, bits)` for the non-zeros of a stored row; passes over eight bytes of zeroes at
/// a time.
template <class Bits, class F>
void each_non_zero(const std::byte* row, std::uint64_t width, F&& f) {
    constexpr std::uint64_t at_once = sizeof(std::uint64_t) / sizeof(Bits);
    std::uint64_t column = 0;
    for (; column + at_once <= width; column += at_once) {
        std::uint64_t word = 0;
        std::memcpy(&word, row + column * sizeof(Bits), sizeof(word));
        if (word == 0) continue;
        for (std::uint64_t i = 0; i < at_once; ++i) {
            if (const auto bits = read_at<Bits>(row, column + i); bits != 0) f(column + i, bits);
        }
    }
    for (; column < width; ++column) {
        if (const auto bits = read_at<Bits>(row, column); bits != 0) f(column, bits);
    }
}

NonZeros count_row(const graph::FeatureView& rows, VertexId row) {
    NonZeros counted{.rows = 1};
    with_value(rows.info.type, [&](auto value) {
        using Value = decltype(value);
        using Bits = typename Value::Stored;
        each_non_zero<Bits>(rows.row(row).data(), rows.info.width, [&](std::uint64_t, Bits bits) {
            ++counted.total;
            counted.ones += static_cast<std::uint64_t>(Value::has_one && bits == Value::one);
        });
    });
    counted.largest = counted.total;
    return counted;
}

/// Divides the non-zeros of a row by the sum of all magnitudes, added up as dense rows add it up.
void normalise_entries(std::span<SparseEntry> entries) noexcept {
    constexpr std::size_t lanes = 16;
    std::array<float, lanes> sums{};
    for (const SparseEntry& entry : entries)
        sums[entry.column % lanes] += std::fabs(entry.value);
    const float sum = graph::sum_of_magnitudes(sums.data(), lanes);
    if (sum == 0) return;
    for (SparseEntry& entry : entries)
        entry.value /= sum;
}

/// Calls `f(column, value)` for the non-zeros of a wire row; how many there are.
template <class Value, class F>
std::size_t walk_wire(const std::byte* wire, const SparseLayout& layout, bool ones,
                      const float* scale, F&& f) {
    const auto count = read_index(wire, layout.index_bytes, 0);
    RUDDER_CHECK_NORMAL(count <= layout.largest);
    const std::byte* values = wire + (1 + count) * layout.index_bytes;
    for (std::size_t i = 0; i < count; ++i) {
        const auto column = read_index(wire, layout.index_bytes, 1 + i);
        f(i, static_cast<std::uint32_t>(column),
          ones ? 1.F : Value::value(read_at<typename Value::Stored>(values, i), scale, column));
    }
    return count;
}

}  // namespace

NonZeros& NonZeros::operator+=(const NonZeros& other) noexcept {
    rows += other.rows;
    total += other.total;
    largest = std::max(largest, other.largest);
    ones += other.ones;
    return *this;
}

SparseLayout::SparseLayout(const graph::FeatureInfo& stored, const NonZeros& counted) noexcept
    : index_bytes(stored.width <= std::numeric_limits<std::uint16_t>::max()
                      ? sizeof(std::uint16_t)
                      : sizeof(std::uint32_t)),
      value_bytes(counted.all_ones() ? 0 : element_size(stored.type)),
      largest(counted.largest) {}

NonZeros count_non_zeros(const graph::FeatureView& rows, std::uint64_t limit) {
    constexpr std::size_t at_once = 256;
    std::atomic<bool> over{false};
    std::vector<NonZeros> counted(chunk_count(rows.rows, at_once));
    parallel_chunks(rows.rows, at_once, [&](const Chunk& chunk) {
        if (over.load(std::memory_order_relaxed)) return;
        NonZeros& some = counted[chunk.index];
        for (std::size_t r = chunk.begin; r < chunk.end && some.largest <= limit; ++r)
            some += count_row(rows, r);
        if (some.largest > limit) over.store(true, std::memory_order_relaxed);
    });
    NonZeros all;
    for (const NonZeros& some : counted)
        all += some;
    return all;
}

NonZeros sample_non_zeros(const graph::FeatureView& rows) {
    const VertexId some = std::min<VertexId>(64, rows.rows);
    NonZeros all;
    for (VertexId i = 0; i < some; ++i)
        all += count_row(rows, i * rows.rows / some);
    return all;
}

bool pays_sparse(const graph::FeatureInfo& stored, const NonZeros& counted) noexcept {
    return 4 * SparseLayout(stored, counted).row_bytes() <= stored.row_bytes();
}

std::uint64_t most_non_zeros(const graph::FeatureInfo& stored) noexcept {
    const SparseLayout shortest(stored, {});
    const std::uint64_t most = stored.row_bytes() / 4 / shortest.index_bytes;
    return most == 0 ? 0 : most - 1;
}

SparseFormat::SparseFormat(const graph::FeatureInfo& stored, std::span<const float> scale,
                           const NonZeros& counted)
    : stored_(stored),
      scale_(scale.begin(), scale.end()),
      counted_(counted),
      layout_(stored, counted),
      ones_(counted.all_ones()) {
    RUDDER_CHECK(stored.width <= std::numeric_limits<std::uint32_t>::max());
}

std::optional<std::size_t> SparseFormat::used_bytes(
    std::span<const std::byte> wire) const noexcept {
    if (wire.size() < layout_.index_bytes) return std::nullopt;
    const std::uint64_t count = read_index(wire.data(), layout_.index_bytes, 0);
    if (count > layout_.largest) return std::nullopt;
    const std::size_t used = layout_.bytes_of(count);
    return used <= wire.size() ? std::optional(used) : std::nullopt;
}

void SparseFormat::encode(const std::byte* stored, std::byte* wire) const {
    with_value(stored_.type, [&](auto value) {
        using Bits = typename decltype(value)::Stored;
        std::size_t count = 0;
        each_non_zero<Bits>(stored, stored_.width, [&](std::uint64_t column, Bits) {
            write_index(wire, layout_.index_bytes, 1 + count++, column);
        });
        RUDDER_CHECK_NORMAL(count <= layout_.largest);
        write_index(wire, layout_.index_bytes, 0, count);
        std::byte* end = wire + (1 + count) * layout_.index_bytes;
        for (std::size_t i = 0; !ones_ && i < count; ++i, end += sizeof(Bits)) {
            const auto column = read_index(wire, layout_.index_bytes, 1 + i);
            write_at(end, 0, read_at<Bits>(stored, column));
        }
        std::fill(end, wire + row_bytes(), std::byte{0});
    });
}

void SparseFormat::decode(const std::byte* wire, SparseEntry* out) const {
    with_value(stored_.type, [&](auto value) {
        const auto put = [out](std::size_t i, std::uint32_t column, float of) {
            out[1 + i] = {column, of};
        };
        const std::size_t count =
            walk_wire<decltype(value)>(wire, layout_, ones_, scale_.data(), put);
        out[0] = {static_cast<std::uint32_t>(count), 0};
    });
    if (stored_.row_normalise) normalise_entries({out + 1, out[0].column});
}

void SparseFormat::load(const std::byte* stored, SparseEntry* out) const {
    with_value(stored_.type, [&](auto value) {
        using Value = decltype(value);
        using Bits = typename Value::Stored;
        std::uint32_t count = 0;
        each_non_zero<Bits>(stored, stored_.width, [&](std::uint64_t column, Bits bits) {
            out[++count] = {static_cast<std::uint32_t>(column),
                            Value::value(bits, scale_.data(), column)};
        });
        out[0] = {count, 0};
    });
    if (stored_.row_normalise) normalise_entries({out + 1, out[0].column});
}

void SparseFormat::decode_dense(const std::byte* wire, float* out) const {
    std::fill_n(out, stored_.width, 0.F);
    std::size_t count = 0;
    with_value(stored_.type, [&](auto value) {
        const auto put = [out](std::size_t, std::uint32_t column, float of) { out[column] = of; };
        count = walk_wire<decltype(value)>(wire, layout_, ones_, scale_.data(), put);
    });
    if (!stored_.row_normalise) return;
    const float sum = graph::sum_of_magnitudes(out, stored_.width);
    for (std::size_t i = 0; sum != 0 && i < count; ++i)
        out[read_index(wire, layout_.index_bytes, 1 + i)] /= sum;
}

}  // namespace rudder::store
