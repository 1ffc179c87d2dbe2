// Vertices dealt at random, exactly balanced, or by a hash of their id alone.
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"

#include "partitioner.hpp"
#include "permutation.hpp"
#include "repair.hpp"

namespace rudder::partition {

/// Deals the training vertices, then the others, both in a random order: each count differs by at
/// most one between parts.
Assignment assign_random(const PartitionInput& input, const PartitionOptions& options,
                         Progress& progress) {
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

/// A vertex goes where its id says, whatever the seed; only parts that stay empty are given one.
Assignment assign_hash(const PartitionInput& input, const PartitionOptions& options,
                       Progress& progress) {
    const VertexId n = input.vertices();
    progress.phase("hashing vertices", n);
    const RandomStream stream({.purpose = Purpose::partition});
    auto parts = Array<PartId>::uninitialised(n);
    parallel_chunks(n, std::size_t{1} << 16, [&](const Chunk& chunk) {
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            parts[v] = static_cast<PartId>(Draws(stream, v).below(options.parts));
        }
    });
    Loads loads(input, options);
    loads.count(input, parts.span());
    fill_empty_parts(input, parts.span(), loads);
    return {std::move(parts), {}};
}

}  // namespace rudder::partition
