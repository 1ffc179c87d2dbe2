// Pairs that are not joined, as somebody gave them: by the vertex they are asked of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "rudder/core/raw_vector.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/split.hpp"

namespace rudder::sample {

/// The targets given for each of a rank's own vertices, which are a stretch of ids.
struct GivenPairs {
    VertexId first = 0;                ///< of the own vertices
    RawVector<std::uint64_t> offsets;  ///< own vertices + 1; none where no pair is given
    RawVector<VertexId> targets;       ///< of each vertex in ascending order, each once

    [[nodiscard]] std::span<const VertexId> of(VertexId own) const noexcept {
        if (offsets.empty()) return {};
        const auto v = static_cast<std::size_t>(own - first);
        return std::span(targets).subspan(offsets[v], offsets[v + 1] - offsets[v]);
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return offsets.size() * sizeof(std::uint64_t) + targets.size() * sizeof(VertexId);
    }
};

/// The same for links of each role; or one list for all.
struct GivenNegatives {
    GivenPairs train;
    GivenPairs valid;
    GivenPairs test;
    bool one_for_all = true;  ///< all of them are in `train`

    [[nodiscard]] const GivenPairs& of(graph::Role role) const noexcept {
        if (one_for_all || role == graph::Role::train) return train;
        return role == graph::Role::valid ? valid : test;
    }
};

}  // namespace rudder::sample
