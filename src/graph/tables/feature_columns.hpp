// Feature columns of a table: first as raw numbers, row by row, then as the rows of a data set.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rudder/graph/feature_source.hpp"

#include "cells.hpp"
#include "schema.hpp"
#include "spill.hpp"

namespace rudder::graph {

/// A feature column as it is read: where it stands, and which raw numbers it gives.
struct RawColumn {
    std::string name;
    FeatureKind kind = FeatureKind::number;
    MissingValues missing = MissingValues::refuse;
    std::size_t batch_column = 0;  ///< in the batches
    std::size_t first = 0;         ///< of its raw numbers
    std::size_t width = 1;
};

/// Raw rows of some slot, and the categories that it met.
struct RawRows {
    std::vector<float> values;
    std::vector<NameCodes> categories;  ///< by column; those of others are empty
};

/// The features of a table. A missing number is kept as NaN until its mean is known, a category as
/// its number.
class FeatureColumns {
public:
    /// `first_batch_column` is where the columns stand in the batches; they are looked at to tell
    /// kinds and widths.
    FeatureColumns(const Table& table, const std::vector<FeatureColumn>& columns,
                   std::size_t first_batch_column, MissingValues missing,
                   std::shared_ptr<SpillRoom> room);

    [[nodiscard]] bool present() const noexcept { return !columns_.empty(); }
    /// Appends the rows of a batch; from any thread, for different `rows`.
    void read(const TableBatch& batch, RawRows& rows) const;
    /// Takes over the rows of a slot, in the order of slots.
    void take(RawRows& rows);
    /// All rows, once all are taken; null where there are no columns. It outlives this object.
    [[nodiscard]] std::unique_ptr<FeatureSource> finish(const std::string& where);

private:
    void read_column(const TableBatch& batch, const RawColumn& column, std::size_t index,
                     RawRows& rows, std::size_t first_row) const;

    std::vector<RawColumn> columns_;
    std::vector<NameCodes> categories_;
    std::size_t raw_width_ = 0;
    Spill raw_;
};

}  // namespace rudder::graph
