// When each seed asks: the times of the vertices of some parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/check.hpp"
#include "rudder/partition/part.hpp"

namespace rudder::sample {

class SeedTimes {
public:
    SeedTimes() = default;
    /// The parts must outlive it; vertices must have times.
    explicit SeedTimes(std::span<const partition::Part> parts) {
        for (const partition::Part& part : parts)
            ranges_.push_back({part.range(), part.vertex_times()});
    }

    /// `v` is of one of the parts.
    [[nodiscard]] std::int64_t of(VertexId v) const {
        for (const Range& range : ranges_) {
            if (range.vertices.contains(v)) return range.times[v - range.vertices.begin];
        }
        RUDDER_CHECK(false);
        return 0;
    }

private:
    struct Range {
        partition::PartitionBook::Range vertices;
        std::span<const std::int64_t> times;
    };
    std::vector<Range> ranges_;
};

}  // namespace rudder::sample
