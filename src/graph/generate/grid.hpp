// A two-dimensional grid: the graph whose every property is known.
#pragma once

#include "generator.hpp"

namespace rudder::graph {

/// rows x columns vertices in row order, each joined to its right and lower neighbour.
class Grid final : public EdgeByEdge<Grid> {
public:
    explicit Grid(const GeneratorOptions& options);
    [[nodiscard]] VertexId vertices() const override { return rows_ * columns_; }
    [[nodiscard]] EdgeIndex edges() const override {
        return rows_ * (columns_ - 1) + (rows_ - 1) * columns_;
    }
    [[nodiscard]] Edge edge(EdgeIndex number) const;

private:
    VertexId rows_;
    VertexId columns_;
};

}  // namespace rudder::graph
