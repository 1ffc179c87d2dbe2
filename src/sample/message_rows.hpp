// The rows that messages pass along: those of a part, or what is left of them.
#pragma once

#include <cstddef>
#include <span>

#include "rudder/core/array.hpp"
#include "rudder/partition/part.hpp"

namespace rudder::sample {

/// Rows of which only links that are trained on are left (and self loops, which are no links).
struct MessageRows {
    Array<EdgeIndex> offsets;
    Array<LocalId> neighbours;
};

/// A view of rows by own vertex.
struct RowsView {
    std::span<const EdgeIndex> offsets;
    std::span<const LocalId> neighbours;
};

/// What own part `index` draws from: its own rows where no others are given.
[[nodiscard]] inline RowsView rows_of(std::span<const partition::Part> own,
                                      std::span<const MessageRows> messages, std::size_t index) {
    if (messages.empty()) return {own[index].offsets(), own[index].neighbours()};
    return {messages[index].offsets.span(), messages[index].neighbours.span()};
}

}  // namespace rudder::sample
