// Rows as if they had edges of one type alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "draw_rows.hpp"

namespace rudder::sample {

/// The entries of one type in rows (see RowDrawer) that are in the order of type and also have
///     const std::uint8_t* types_of(VertexId v) const;
/// A vertex has few types, so its bytes are a line or two: they are looked through by halves.
template <class Rows>
class RowsOfType {
public:
    using Row = decltype(std::declval<const Rows&>().row(VertexId{}));

    RowsOfType(const Rows& rows, std::uint8_t type) : rows_(rows), type_(type) {}

    [[nodiscard]] Row row(VertexId v) const noexcept {
        const Row whole = rows_.row(v);
        const Stretch own = stretch(v, whole.degree);
        return whole.part_of(own.first, own.count);
    }
    [[nodiscard]] CarriedRow carried(VertexId v) const noexcept {
        return rows_.carried(v).from(stretch(v, rows_.row(v).degree).first);
    }
    void prefetch_row(VertexId v) const noexcept { rows_.prefetch_row(v); }

private:
    struct Stretch {
        EdgeIndex first;
        EdgeIndex count;
    };
    [[nodiscard]] Stretch stretch(VertexId v, EdgeIndex degree) const noexcept {
        const std::uint8_t* const types = rows_.types_of(v);
        const auto [first, last] = std::equal_range(types, types + degree, type_);
        return {static_cast<EdgeIndex>(first - types), static_cast<EdgeIndex>(last - first)};
    }

    const Rows& rows_;
    std::uint8_t type_;
};

}  // namespace rudder::sample
