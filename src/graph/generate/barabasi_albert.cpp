#include "barabasi_albert.hpp"

#include <algorithm>

namespace rudder::graph {

namespace {

constexpr double default_degree = 4;

}  // namespace

BarabasiAlbert::BarabasiAlbert(const GeneratorOptions& o)
    : vertices_(o.vertices),
      per_vertex_(
          std::max<EdgeIndex>(1, static_cast<EdgeIndex>(o.degree > 0 ? o.degree : default_degree))),
      stream_({.purpose = Purpose::generate_edges, .seed = o.seed}) {}

Edge BarabasiAlbert::edge(EdgeIndex number) const {
    // Ends are numbered 2e (the vertex that brings edge e) and 2e + 1 (what it attaches to, which
    // is a copy of an earlier end).
    EdgeIndex end = 2 * number + 1;
    while (end % 2 == 1)
        end = Draws(stream_, end).below(end);
    return {end / 2 / per_vertex_, number / per_vertex_};
}

}  // namespace rudder::graph
