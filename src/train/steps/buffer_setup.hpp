// What a buffer needs to know before the first step: sizes, the halo, degrees, inclusion.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer/bookkeeping.hpp"
#include "buffer/live_buffer.hpp"
#include "train/ground.hpp"

namespace rudder::train {

struct BufferSetup {
    buffer::PolicySpec policy;
    bool used = false;                      ///< false: every row is pulled
    buffer::SlotId slots = 0;               ///< on the first rank that shares the buffer
    buffer::SlotId floor_slots = 0;         ///< the same, but also without a buffer
    std::vector<buffer::LocalRange> local;  ///< with those that are apart
    std::vector<buffer::LocalRange> apart;  ///< learned rows: no buffer keeps them
    std::uint64_t parts = 1;                ///< that share the buffer
    buffer::HaloFacts facts;

    /// Vertices whose rows the buffer is not asked for: of the parts that share it, and of learned
    /// rows.
    [[nodiscard]] std::uint64_t own_vertices() const noexcept {
        std::uint64_t own = 0;
        for (const buffer::LocalRange& range : local)
            own += range.end - range.begin;
        return own;
    }
};

/// Vertices of other hosts, whose rows the buffer may be asked for.
[[nodiscard]] std::uint64_t remote_vertices(const Ground& ground, const BufferSetup& setup);

/// What a step of this rank needs, on average.
struct StepVertices {
    double remote = 0;
    double all = 0;
};
/// The buffer's bookkeeping, on the first rank that shares it; elsewhere, and without a buffer, one
/// of no rows.
[[nodiscard]] buffer::BookkeepingShape bookkeeping_shape(const Ground& ground,
                                                         const BufferSetup& setup,
                                                         const StepVertices& step = {});

/// Collective. A buffer larger than the host's memory is a usage Error on all ranks.
[[nodiscard]] BufferSetup set_up_buffer(const Ground& ground);

}  // namespace rudder::train
