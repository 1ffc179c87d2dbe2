#include "fennel_partitioner.hpp"

#include <cmath>

#include "repair.hpp"
#include "streaming.hpp"

namespace rudder::partition {

namespace {

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

Assignment FennelPartitioner::assign(const PartitionInput& input, const PartitionOptions& options,
                                     Progress& progress) const {
    const double density = static_cast<double>(input.graph.edges()) / 2 /
                           static_cast<double>(std::max<VertexId>(input.vertices(), 1));
    return finish_assignment(input, options,
                             stream_parts(input, options, FennelScore{1.5 * density}, progress));
}

}  // namespace rudder::partition
