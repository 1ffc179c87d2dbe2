// Assembled rows as networks take them.
#pragma once

#include <optional>
#include <span>

#include "rudder/nn/network.hpp"
#include "store/row_format.hpp"

namespace rudder::train {

/// What a network is to be told of the rows that a store assembles.
[[nodiscard]] inline std::optional<nn::SparseInputs> sparse_inputs(const store::RowFormat& format) {
    if (!format.assembles_sparse()) return std::nullopt;
    const store::NonZeros& counted = format.sparse()->counted();
    return nn::SparseInputs{.largest = counted.largest, .mean = counted.mean()};
}

/// Rows that a store has assembled, as the network takes them that was told so.
[[nodiscard]] inline nn::InputRows input_rows(const store::RowFormat& format,
                                              std::span<const float> rows) {
    if (!format.assembles_sparse()) return rows;
    return nn::InputRows::sparse(rows, format.row_floats());
}

/// As what a store is to assemble sparse rows for a model.
[[nodiscard]] inline store::AssembledRows assembled_for(std::string_view model) {
    return nn::model_takes_sparse(model) ? store::AssembledRows::sparse
                                         : store::AssembledRows::dense;
}

}  // namespace rudder::train
