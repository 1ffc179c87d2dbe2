// METIS graph files: line i lists the neighbours of vertex i, from 1; weights are passed over.
#pragma once

#include "rudder/graph/io/graph_reader.hpp"

namespace rudder::graph {

class MetisReader final : public GraphReader {
public:
    [[nodiscard]] RawGraph read(const ReadOptions& options, Progress& progress) const override;
};

}  // namespace rudder::graph
