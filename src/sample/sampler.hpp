// The neighbour sampler: draws layer by layer, removes duplicates, builds the blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rudder/sample/batch.hpp"

#include "neighbour_source.hpp"

namespace rudder::sample {

struct SamplerOptions {
    std::vector<std::int32_t> fanout{10, 25};  ///< one per layer, input side first; -1: all
    bool with_replacement = false;
    Sampler sampler = Sampler::plain;
    std::uint64_t redraw = 1;  ///< steps between the numbers of a vertex, where they are shared
    std::uint64_t seed = 0;
    Purpose purpose = Purpose::sample;
    comm::Kind kind = comm::Kind::topology;
    bool degrees = false;  ///< also give the degrees of the batch's vertices in the whole graph
    /// Graphs of up to so many vertices get a table of 4 bytes per vertex and sampler to find
    /// duplicates with, larger ones a hash table of the batch's size. No result depends on it.
    VertexId direct_limit = VertexId{1} << 28;
};

/// Draws batches. Its scratch memory is its own, so each task that samples has one; the source is
/// shared. The batch depends on key, seeds and options alone.
class NeighbourSampler {
public:
    /// The source must outlive it. A fan-out of 0, or below -1, or none at all is a usage Error.
    NeighbourSampler(const NeighbourSource& source, SamplerOptions options);
    ~NeighbourSampler();
    NeighbourSampler(NeighbourSampler&&) noexcept;

    /// Fills `out`. Seeds are distinct global ids; there may be none.
    void sample(const BatchKey& key, std::span<const VertexId> seeds, Batch& out);

private:
    struct Scratch;
    const NeighbourSource* source_;
    SamplerOptions options_;
    std::unique_ptr<Scratch> scratch_;
};

}  // namespace rudder::sample
