// Which entries of a row its draws are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rudder/core/types.hpp"

namespace rudder::train {

/// The entry of a row, which ascends, that the e-th of its draws is. The same neighbour may be
/// there several times.
template <class Id>
[[nodiscard]] std::int64_t entry_of(std::span<const Id> row, std::span<const VertexId> vertices,
                                    std::span<const LocalId> drawn, std::size_t e) {
    const VertexId id = vertices[drawn[e]];
    const auto first = std::ranges::lower_bound(row, id, {}, [](Id v) { return VertexId{v}; });
    auto entry = first;
    const auto is_id = [&](auto at) { return at != row.end() && VertexId{*at} == id; };
    if (is_id(first + 1)) {
        entry +=
            std::count(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(e), drawn[e]);
        if (entry >= row.end() || !is_id(entry)) entry = first;  // drawn with replacement
    }
    return entry - row.begin();
}

/// Writes the numbers of a row's draws, of which `first` is that of its first entry; returns the
/// place behind them.
template <class Id>
std::int64_t* number_row(std::span<const Id> row, std::span<const VertexId> vertices,
                         std::span<const LocalId> drawn, std::int64_t first, std::int64_t* number) {
    const bool whole = drawn.size() == row.size();  // then in the row's order, or drawn again
    for (std::size_t e = 0; e < drawn.size(); ++e) {
        const bool in_place = whole && VertexId{row[e]} == vertices[drawn[e]];
        *number++ =
            first + (in_place ? static_cast<std::int64_t>(e) : entry_of(row, vertices, drawn, e));
    }
    return number;
}

}  // namespace rudder::train
