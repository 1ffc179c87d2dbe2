// Predictions as a table: a row for each vertex, under the user's id.
#pragma once

#include <cstddef>
#include <filesystem>

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
    VertexId vertices = 0;
    std::size_t scores = 0;
    std::size_t hidden = 0;  ///< columns of the embedding, behind the scores
};

/// Writes `id`; `class` (its name), or `labels` (names with ; between them); `score_NAME` for each
/// class, or `value` of numbers; `embedding_0`, ... `row` gives the floats of a vertex.
void write_prediction_table(graph::OutputFormat format, const std::filesystem::path& file,
                            const PredictionTable& table, FunctionRef<const float*(VertexId)> row);

}  // namespace rudder::train
