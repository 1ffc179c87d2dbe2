#include "hash_partitioner.hpp"

#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"

#include "repair.hpp"

namespace rudder::partition {

/// A vertex goes where its id says, whatever the seed; only parts that stay empty are given one.
Assignment HashPartitioner::assign(const PartitionInput& input, const PartitionOptions& options,
                                   Progress& progress) const {
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
