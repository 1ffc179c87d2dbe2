// Predictions as columns and arrays: a row for each vertex or edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "graph/io/npz.hpp"
#include "graph/tables/table_writer.hpp"
#include "graph/vertex_ids.hpp"
#include "rudder/core/function_ref.hpp"
#include "rudder/graph/targets.hpp"
#include "rudder/nn/network.hpp"

namespace rudder::train {

/// What the rows are, and what they are called.
struct PredictionTable {
    nn::Objective objective = nn::Objective::classes;
    const graph::TargetInfo& targets;
    const graph::VertexIds& ids;
    std::uint64_t rows = 0;
    std::size_t scores = 0;
    std::size_t hidden = 0;  ///< columns of the embedding, behind the scores
};

/// The columns of answers: `class` (its name), or `labels` (names with ; between them);
/// `score_NAME` for each class, or `value` of numbers; `embedding_0`, ...
void add_answer_columns(const PredictionTable& table, std::vector<graph::OutputColumn>& columns);

/// Writes the cells of these columns, row by row.
class AnswerCells {
public:
    /// The table must outlive it.
    explicit AnswerCells(const PredictionTable& table) : table_(table), labels_(table.scores) {}
    /// `row` has the scores, then the embedding.
    void put(graph::TableWriter& writer, const float* row);

private:
    const PredictionTable& table_;
    std::vector<std::uint8_t> labels_;
};

/// Writes `id` and the columns of answers. `row` gives the floats of a vertex.
void write_prediction_table(graph::OutputFormat format, const std::filesystem::path& file,
                            const PredictionTable& table, FunctionRef<const float*(VertexId)> row);

/// Gives rows one after the other, null at the end; and makes such a walk.
using RowWalk = std::function<const float*()>;
using RowWalks = std::function<RowWalk()>;

/// Adds `class` or `labels`, `classes` (names), `scores` and `embedding` to an archive. Rows are
/// walked in `finish`, anew for each array.
void add_answers(graph::NpzWriter& writer, const PredictionTable& table, const RowWalks& walks);

}  // namespace rudder::train
