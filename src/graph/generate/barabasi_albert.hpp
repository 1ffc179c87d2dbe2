// Preferential attachment without communication or memory (Sanders and Schulz, IPL 2016).
#pragma once

#include "rudder/core/random.hpp"

#include "generator.hpp"

namespace rudder::graph {

/// Barabasi and Albert's model: each vertex brings `degree` edges, whose other ends are ends of
/// earlier edges chosen at random. An end is found by following the draws backwards.
class BarabasiAlbert final : public EdgeByEdge<BarabasiAlbert> {
public:
    explicit BarabasiAlbert(const GeneratorOptions& options);
    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override { return vertices_ * per_vertex_; }
    [[nodiscard]] Edge edge(EdgeIndex number) const;

private:
    VertexId vertices_;
    EdgeIndex per_vertex_;
    RandomStream stream_;
};

}  // namespace rudder::graph
