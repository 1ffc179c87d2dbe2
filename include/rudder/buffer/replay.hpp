// Runs policies over a recorded trace, on ids alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rudder/buffer/id_buffer.hpp"
#include "rudder/buffer/pilot.hpp"
#include "rudder/buffer/trace.hpp"

namespace rudder::buffer {

/// How large the buffer of each host is: a share of its halo, or rows.
struct BufferSize {
    std::optional<double> fraction{};
    std::uint64_t rows = 0;  ///< where no fraction is given

    /// Rows for a halo of this size: floor(fraction x halo), or the rows.
    [[nodiscard]] std::uint64_t of(std::uint64_t halo) const;
};

/// One policy with one size.
struct ReplayCase {
    PolicySpec policy;
    BufferSize size;
};

struct ReplayResult {
    std::uint64_t capacity = 0;  ///< rows, over all hosts
    Rows rows;                   ///< over all hosts
};

/// One case on one host, steered by a pilot if there is one. Steps are published as far ahead as
/// the policy of the moment or the pilot wants to see, and no others are held in memory; `optimal`
/// without a pilot is counted and needs none.
[[nodiscard]] Rows replay_host(const HostTrace& trace, const PolicySpec& policy,
                               std::uint64_t capacity, BufferPilot* pilot = nullptr);
/// All cases over all hosts, side by side on all threads; results in the order of the cases.
[[nodiscard]] std::vector<ReplayResult> replay(const Trace& trace,
                                               std::span<const ReplayCase> cases);

}  // namespace rudder::buffer
