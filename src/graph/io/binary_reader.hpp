// Raw binary edge lists: pairs of little-endian ids and nothing else.
#pragma once

#include "rudder/graph/io/graph_reader.hpp"

namespace rudder::graph {

class BinaryReader final : public GraphReader {
public:
    [[nodiscard]] RawGraph read(const ReadOptions& options, Progress& progress) const override;
};

}  // namespace rudder::graph
