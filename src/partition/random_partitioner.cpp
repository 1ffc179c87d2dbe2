#include "random_partitioner.hpp"

#include "loads.hpp"
#include "permutation.hpp"

namespace rudder::partition {

/// Deals the training vertices, then the others, both in a random order: each count differs by at
/// most one between parts.
Assignment RandomPartitioner::assign(const PartitionInput& input, const PartitionOptions& options,
                                     Progress& progress) const {
    const VertexId n = input.vertices();
    progress.phase("dealing vertices", n);
    const RandomStream stream({.purpose = Purpose::partition, .seed = options.seed});
    const Permutation shuffled(n, stream);
    auto parts = Array<PartId>::uninitialised(n);
    VertexId dealt = 0;
    for (const std::uint64_t train : {1U, 0U}) {
        for (VertexId i = 0; i < n; ++i) {
            const VertexId v = shuffled(i);
            if (weights_of(input, v)[1] != train) continue;
            parts[v] = static_cast<PartId>(dealt++ % options.parts);
        }
    }
    return {std::move(parts), {}};
}

}  // namespace rudder::partition
