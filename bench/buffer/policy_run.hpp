// One policy over steps of rows, as benchmarks time it.
#pragma once

#include <array>
#include <vector>

#include "rudder/buffer/id_buffer.hpp"

namespace rudder::bench {

/// Those whose cost per remote row is stated.
inline constexpr std::array<const char*, 5> policies_of_stage{"window:16", "window:64", "lru",
                                                              "lfu", "scored,every:16"};

/// Takes every step; each is published as far ahead as the policy wants to see.
inline void run_policy(buffer::IdBuffer& ids,
                       const std::vector<std::vector<buffer::RowKey>>& steps) {
    std::size_t published = 0;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        for (; published < steps.size() && published <= s + ids.horizon(); ++published)
            ids.publish(published, steps[published]);
        static_cast<void>(ids.advance());
    }
}

}  // namespace rudder::bench
