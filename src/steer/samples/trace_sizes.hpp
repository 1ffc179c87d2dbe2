// Sizes of a run, as its trace has them.
#pragma once

#include "rudder/buffer/trace.hpp"
#include "rudder/steer/observation.hpp"

namespace rudder::steer {

[[nodiscard]] inline RunSizes sizes_of(const buffer::TraceHeader& header) {
    return {header.batch, header.vertices, header.own_vertices};
}

}  // namespace rudder::steer
