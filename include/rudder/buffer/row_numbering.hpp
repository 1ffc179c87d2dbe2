// Numbers remote rows 0, 1, 2, ... so that all state per row lies in plain arrays.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>

#include "rudder/core/array.hpp"
#include "rudder/core/types.hpp"

namespace rudder::buffer {

/// The number of a remote row: halo vertices first, in ascending id, then others as first seen.
using RowKey = std::uint32_t;
inline constexpr RowKey no_row = 0xffffffffU;
/// In loops over rows: how many ahead a row's memory is asked for, so that misses overlap.
inline constexpr std::size_t lead = 16;

/// Vertices in a row. One task adds while others read what they know to be there: nothing moves.
class VertexList {
public:
    [[nodiscard]] std::size_t size() const noexcept {
        return size_.load(std::memory_order_acquire);
    }
    [[nodiscard]] VertexId operator[](std::size_t i) const noexcept {
        const std::size_t piece = piece_of(i);
        return pieces_[piece][i - begin_of(piece)];
    }
    /// Brings an element that is about to be read into the cache.
    void prefetch(std::size_t i) const noexcept {
        const std::size_t piece = piece_of(i);
        __builtin_prefetch(pieces_[piece].get() + (i - begin_of(piece)));
    }
    void push_back(VertexId v);
    [[nodiscard]] std::uint64_t bytes() const noexcept;

private:
    static constexpr unsigned first_bits = 10;  ///< of the first piece; each next is twice as large
    [[nodiscard]] static std::size_t piece_of(std::size_t i) noexcept {
        return static_cast<std::size_t>(std::bit_width((i >> first_bits) + 1)) - 1;
    }
    [[nodiscard]] static std::size_t begin_of(std::size_t piece) noexcept {
        return ((std::size_t{1} << piece) - 1) << first_bits;
    }

    std::array<std::unique_ptr<VertexId[]>, 33 - first_bits> pieces_;
    std::atomic<std::size_t> size_{0};
};

/// From vertex to row number and back. Direct-address where ids are below 2^28, open addressing
/// above. One numbering serves a buffer and all of its shadows. `size` and `vertex` are
/// safe while another task adds; looking up is safe as long as none does.
class RowNumbering {
public:
    /// The largest universe that gets an entry per vertex.
    static constexpr VertexId direct_limit = VertexId{1} << 28;

    /// Ids are below `vertices`; `halo` is ascending and becomes rows 0 to halo.size() - 1.
    /// Universes of up to `limit` vertices get an entry per vertex.
    RowNumbering(VertexId vertices, std::span<const VertexId> halo, VertexId limit = direct_limit);

    /// Rows numbered so far, and those of the halo among them.
    [[nodiscard]] RowKey size() const noexcept { return static_cast<RowKey>(vertices_.size()); }
    [[nodiscard]] RowKey halo() const noexcept { return halo_; }
    [[nodiscard]] VertexId universe() const noexcept { return universe_; }
    [[nodiscard]] VertexId vertex(RowKey row) const noexcept { return vertices_[row]; }
    /// Before `vertex`, some rows ahead of it.
    void prefetch(RowKey row) const noexcept { vertices_.prefetch(row); }

    /// The numbers of `ids`, new ones for those not seen before. An id outside the universe is an
    /// InternalError: readers refuse it before.
    void number(std::span<const VertexId> ids, std::span<RowKey> out);
    /// The same where `out` is what `find` gave: those not seen before get their numbers.
    void add_missing(std::span<const VertexId> ids, std::span<RowKey> out);
    /// The numbers of `ids`, no_row for those not seen before.
    void find(std::span<const VertexId> ids, std::span<RowKey> out) const noexcept;
    /// Memory held, in bytes.
    [[nodiscard]] std::uint64_t bytes() const noexcept;

private:
    struct Entry {
        VertexId vertex;
        RowKey row_plus_one;  ///< 0: free
    };
    [[nodiscard]] bool direct() const noexcept { return !direct_.empty() || universe_ == 0; }
    [[nodiscard]] std::size_t home(VertexId v) const noexcept {
        return static_cast<std::size_t>((v * 0x9E3779B97F4A7C15ULL) >> shift_);
    }
    [[nodiscard]] const Entry& probe(VertexId v) const noexcept;
    void grow();
    RowKey add(VertexId v);

    VertexId universe_;
    RowKey halo_ = 0;
    VertexList vertices_;   ///< by row
    Array<RowKey> direct_;  ///< row + 1 by vertex; 0: none
    Array<Entry> table_;    ///< a power of two of entries, at most half full
    unsigned shift_ = 0;    ///< 64 - log2 of that
};

}  // namespace rudder::buffer
