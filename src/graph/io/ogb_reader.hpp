// Folders as the Open Graph Benchmark has them: raw/*.csv.gz and split/SCHEME/*.csv.gz.
#pragma once

#include "rudder/graph/io/graph_reader.hpp"

namespace rudder::graph {

class OgbReader final : public GraphReader {
public:
    [[nodiscard]] RawGraph read(const ReadOptions& options, Progress& progress) const override;
};

}  // namespace rudder::graph
