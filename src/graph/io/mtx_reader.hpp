// Matrix Market files: a sparse matrix in coordinates is a graph, entry (i, j) the edge from i to
// j.
#pragma once

#include "rudder/graph/io/graph_reader.hpp"

namespace rudder::graph {

class MtxReader final : public GraphReader {
public:
    [[nodiscard]] RawGraph read(const ReadOptions& options, Progress& progress) const override;
};

}  // namespace rudder::graph
