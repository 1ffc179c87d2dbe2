// Feature rows that come from files: tables of NumPy, sparse rows, text.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rudder/core/array.hpp"
#include "rudder/graph/io/graph_reader.hpp"

#include "npy.hpp"

namespace rudder::graph {

/// A table as it stands in a NumPy array, which is opened again for every walk. float64 becomes
/// float32; bool and whole numbers from 0 to 255 become uint8, other whole numbers float32. `scale`
/// is for int8 (empty: all ones). Null if the table has no columns.
[[nodiscard]] std::unique_ptr<FeatureSource> dense_features(std::function<NpyReader()> open,
                                                            Array<float> scale = {});

/// Rows in compressed form; they are made dense when they are walked.
struct SparseRows {
    VertexId rows = 0;
    std::uint64_t width = 0;
    Array<std::int64_t> offsets;  ///< rows + 1
    IdArray columns;              ///< below width
    Array<float> values;          ///< as many as columns; empty: all ones
    std::string where;            ///< names the array of columns
};
/// uint8 where all values are whole numbers from 0 to 255, else float32.
[[nodiscard]] std::unique_ptr<FeatureSource> sparse_features(SparseRows rows);

/// A table in a text file, one row per line.
[[nodiscard]] std::unique_ptr<FeatureSource> text_features(const std::filesystem::path& file,
                                                           VertexId rows);

}  // namespace rudder::graph
