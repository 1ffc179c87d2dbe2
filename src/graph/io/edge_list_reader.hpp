// Edge lists as text: two ids per line, separated by spaces, tabs, commas or semicolons.
#pragma once

#include "rudder/graph/io/graph_reader.hpp"

namespace rudder::graph {

class EdgeListReader final : public GraphReader {
public:
    /// `header`: whether a first line of words is taken for names of columns (CSV).
    explicit EdgeListReader(bool header) : header_(header) {}
    [[nodiscard]] RawGraph read(const ReadOptions& options, Progress& progress) const override;

private:
    bool header_;
};

}  // namespace rudder::graph
