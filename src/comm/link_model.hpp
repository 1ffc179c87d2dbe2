// A link with a delay and a rate (the alpha-beta model), for slow networks on fast machines.
#pragma once

#include <cstddef>
#include <string>

#include "core/executor/executor.hpp"

namespace rudder::comm {

/// What a link costs: every message takes `delay`, and its bytes leave at `rate` one message after
/// the other.
struct LinkModel {
    Duration delay{0};
    double bytes_per_second = 0;  ///< 0: no limit

    [[nodiscard]] Duration transfer(std::size_t bytes) const;
    /// As many as leave before the first arrives; 0 without a rate.
    [[nodiscard]] std::size_t bytes_under_way() const {
        return static_cast<std::size_t>(to_seconds(delay) * bytes_per_second);
    }
    [[nodiscard]] bool active() const noexcept {
        return delay > Duration::zero() || bytes_per_second > 0;
    }
};

/// Reads "100us,1gbit": a time (ns, us, ms, s) and a rate (bit, kbit, mbit, gbit per second, or
/// with B for bytes: MB, GB). A usage Error otherwise.
[[nodiscard]] LinkModel parse_link(const std::string& text);

}  // namespace rudder::comm
