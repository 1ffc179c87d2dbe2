// The rows that messages pass along: those of a part, or what is left of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rudder/core/array.hpp"
#include "rudder/partition/part.hpp"

namespace rudder::sample {

/// Which edges are links, in a graph of several types: those of one type. Where its edges go back
/// in a type of their own, the link u -> v stands in the row of v as an edge of the type, and in
/// that of u as one of the other.
struct LinkTypes {
    std::uint8_t type = 0;
    std::optional<std::uint8_t> reverse{};
};

/// Rows of which only links that are trained on are left, and what is no link (self loops, and
/// edges of other types).
struct MessageRows {
    Array<EdgeIndex> offsets;
    Array<LocalId> neighbours;
    Array<std::uint8_t> types{};  ///< of the edges, in a graph of several
};

/// A view of rows by own vertex.
struct RowsView {
    std::span<const EdgeIndex> offsets;
    std::span<const LocalId> neighbours;
    std::span<const std::uint8_t> types{};  ///< of the edges, in a graph of several
};

/// What own part `index` draws from: its own rows where no others are given.
[[nodiscard]] inline RowsView rows_of(std::span<const partition::Part> own,
                                      std::span<const MessageRows> messages, std::size_t index) {
    if (messages.empty()) {
        return {own[index].offsets(), own[index].neighbours(), own[index].edge_data().type};
    }
    const MessageRows& left = messages[index];
    return {left.offsets.span(), left.neighbours.span(), left.types.span()};
}

}  // namespace rudder::sample
