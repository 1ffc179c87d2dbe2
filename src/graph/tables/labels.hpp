// Labels and splits of a table's rows: classes, several of them, or numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/core/function_ref.hpp"
#include "rudder/graph/io/graph_reader.hpp"
#include "rudder/graph/split.hpp"

#include "cells.hpp"
#include "pieces.hpp"
#include "schema.hpp"

namespace rudder::graph {

/// Labels of a slot, by the kind of label.
struct SlotLabels {
    NameCodes names;
    std::vector<std::int32_t> classes;   ///< no_label, or a number of `names`
    std::vector<std::uint32_t> several;  ///< classes of multi-label rows, one row after the other
    std::vector<std::int32_t> counts;    ///< how many of them a row has; -1: no label
    std::vector<float> numbers;
};

/// Reads the columns of a label, batch by batch.
class LabelReader {
public:
    /// The columns are those from `first` on of every batch; what kind of label they are is told by
    /// the first rows, unless they say it. All that is given must outlive it.
    LabelReader(const Table& table, const std::vector<LabelColumn>& label, std::size_t first);

    /// Adds the rows of a batch for which `kept` holds. From any thread, each with a slot of its
    /// own.
    void read(const TableBatch& batch, SlotLabels& into, FunctionRef<bool(std::size_t)> kept) const;
    /// Takes what a slot has, which is empty then. Slots come in the order of their rows.
    void take(SlotLabels& slot);
    /// All of them. `where` is the table, for messages.
    [[nodiscard]] Targets finish(const std::string& where);

private:
    void read_names(const TableBatch& batch, SlotLabels& into,
                    FunctionRef<bool(std::size_t)> kept) const;
    void read_numbers(const TableBatch& batch, SlotLabels& into,
                      FunctionRef<bool(std::size_t)> kept) const;
    void fill_multilabel(const NameCodes::Order& order, Targets& targets);

    const std::vector<LabelColumn>& label_;
    std::size_t first_;
    LabelKind kind_ = LabelKind::classes;
    NameCodes names_;
    Pieces<std::int32_t> classes_;
    Pieces<std::uint32_t> several_;
    Pieces<std::int32_t> counts_;
    Pieces<float> numbers_;
};

/// The role that a cell of a split names; nothing or `none`: none.
[[nodiscard]] Role role_of(CellReader& reader, std::size_t row);

}  // namespace rudder::graph
