// What the columns of the whole data set hold: their ranges, from which quantised rows follow, and
// the error that a precision makes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/partition/part.hpp"

#include "column_steps.hpp"
#include "row_format.hpp"

namespace rudder::store {

/// The rows of the whole data set, each read by the rank that holds its part.
struct AllRows {
    comm::Communicator comm;
    const partition::PartitionBook& book;
    std::span<const partition::Part> parts;  ///< opened: this rank's, maybe among others
};

/// Of the values that networks see, normalised rows and all. The same bits on any number of ranks
/// and threads.
struct ColumnFacts {
    std::uint64_t width = 0;
    VertexBlocks blocks = VertexBlocks::one;
    // Of block 0, block 1, ...: `width` each.
    std::vector<float> least;
    std::vector<float> largest;
    /// How far the values of each column typically lie apart; see `column_facts`.
    std::vector<double> spread;
};

/// Collective; reads all rows once, on all threads. A NaN or an infinity is an input Error.
///
/// A column's spread is what its standard deviation is where it has no outliers: the distance of
/// its 5 % and 95 % quantiles, over 3.29; by 512 rows at even distances. The standard deviation
/// itself where those are equal, as in sparse columns; 0 for constant ones.
[[nodiscard]] ColumnFacts column_facts(const AllRows& rows, VertexBlocks blocks);

/// In which blocks of vertices a precision quantises.
[[nodiscard]] VertexBlocks blocks_of(Precision precision) noexcept;
/// The levels of int8 or int4 between the least and the largest values of `blocks_of` it (facts by
/// 1024 do for one block, too). A column too wide for float32 is an input Error that names `where`.
[[nodiscard]] ColumnSteps column_steps(const ColumnFacts& facts, Precision precision,
                                       const std::string& where);

/// An error of one column, as a share of its spread.
struct ColumnError {
    std::uint64_t column = 0;
    double of_spread = 0;
};
/// The worst columns. Constant ones, which say nothing, do not count.
struct RowErrors {
    ColumnError largest;           ///< of any single element
    ColumnError root_mean_square;  ///< of a column's elements
};

/// Collective; what a format makes of all rows against what is stored. Reads them once.
[[nodiscard]] RowErrors row_errors(const AllRows& rows, const ColumnFacts& facts,
                                   const RowFormat& format);

/// What a column may be off by (root mean square, of its spread) before people are told: a tenth in
/// int8, half in int4. Of other precisions nothing is said: an outlier spoils no other value there.
[[nodiscard]] double bearable_error(Precision precision) noexcept;
/// Collective: the worst column if quantising makes an unbearable error. Rows are read only where
/// steps are so large.
[[nodiscard]] std::optional<ColumnError> find_outlier(const AllRows& rows, const ColumnFacts& facts,
                                                      const RowFormat& format);

/// One precision, and what it would do to all rows.
struct PrecisionErrors {
    Precision precision;
    std::uint64_t row_bytes = 0;
    RowErrors errors;
    std::string refused;  ///< why it cannot be used, if so
};
/// Collective: of bfloat16, int8 and int4. `where` is named where one is refused.
[[nodiscard]] std::vector<PrecisionErrors> precision_errors(const AllRows& rows,
                                                            const std::string& where);

}  // namespace rudder::store
