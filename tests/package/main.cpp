// Builds a graph of one edge through the installed library.
#include <cstdio>
#include <vector>

#include "rudder/core/version.hpp"
#include "rudder/graph/topology_builder.hpp"

int main() {
    const std::vector<rudder::graph::Edge> edges{{0, 1}};
    const auto built = rudder::graph::build_topology(rudder::graph::EdgeSpan(2, edges), {});
    std::printf("rudder %.*s: %zu rows\n", static_cast<int>(rudder::version().size()),
                rudder::version().data(),
                static_cast<std::size_t>(built.topology.view().vertices()));
    return built.topology.view().edges() == 2 ? 0 : 1;
}
