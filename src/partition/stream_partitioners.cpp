// Linear deterministic greedy and Fennel: streams of vertices, each placed by its neighbours'
// places.
#include <cmath>

#include "partitioner.hpp"
#include "repair.hpp"
#include "streaming.hpp"

namespace rudder::partition {

namespace {

/// Neighbours, weighted by the room that is left, measured against the mean of what is placed by
/// now, not at the end: measured against the end, the first hubs draw all that follows into a part
/// or two (npm_deps, 4 parts, vertices balanced, one pass, seeds 0 to 9: cut 49.5 % on average
/// against the end, 39.6 % like this). The two constants were chosen on that graph.
/// Later passes, where neighbours already have a place, may stray further from it.
struct LdgScore {
    static constexpr bool restart = true;

    double operator()(double neighbours, PartId p, const Loads& loads,
                      const StreamState& state) const {
        const double most = state.pass == 0 ? 1.2 : 1.5;
        const double room = 1 - loads.fullness(p, state.per_placed) / most;
        return neighbours * (room > 0 ? std::sqrt(room) : room);
    }
};

/// Neighbours less the marginal price of Fennel's paper with gamma = 3/2: in terms of a part's
/// fullness it is 3/2 edges/vertices sqrt(fullness). Each further pass doubles the price.
struct FennelScore {
    static constexpr bool restart = false;
    double price;

    double operator()(double neighbours, PartId p, const Loads& loads,
                      const StreamState& state) const {
        return neighbours - std::ldexp(price, static_cast<int>(std::min(state.pass, 20U))) *
                                std::sqrt(loads.fullness(p));
    }
};

}  // namespace

Assignment assign_ldg(const PartitionInput& input, const PartitionOptions& options,
                      Progress& progress) {
    return finish_assignment(input, options, stream_parts(input, options, LdgScore{}, progress));
}

Assignment assign_fennel(const PartitionInput& input, const PartitionOptions& options,
                         Progress& progress) {
    const double density = static_cast<double>(input.graph.edges()) / 2 /
                           static_cast<double>(std::max<VertexId>(input.vertices(), 1));
    return finish_assignment(input, options,
                             stream_parts(input, options, FennelScore{1.5 * density}, progress));
}

}  // namespace rudder::partition
