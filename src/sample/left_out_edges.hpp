// The edges of a batch's links, by the seeds whose rows have them.
#pragma once

#include <cstdint>
#include <span>

#include "rudder/core/raw_vector.hpp"

#include "neighbour_source.hpp"
#include "sampler.hpp"

namespace rudder::sample {

/// Keeps its memory from batch to batch.
class LeftOutEdges {
public:
    /// `positions` are the seeds that the links' ids are.
    void find(const LinkIds& links, std::span<const LocalId> positions, std::uint32_t seeds);
    [[nodiscard]] LeftOut view() const noexcept { return {offsets_, neighbours_}; }

private:
    RawVector<std::uint32_t> offsets_;
    RawVector<VertexId> neighbours_;
};

}  // namespace rudder::sample
