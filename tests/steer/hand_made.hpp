// Observations made by hand.
#pragma once

#include "rudder/steer/observation.hpp"

namespace rudder::test {

/// Before step `step` of 1,000: one step of 100 needed rows, of which `hits` were hits.
inline steer::Observation observed(std::uint64_t step, std::uint64_t hits = 50) {
    steer::Observation o;
    o.sequence = step + 1;
    o.step = step;
    o.steps = 1000;
    o.steps_per_epoch = 100;
    o.rows = {.steps = 1, .needed = 100, .hit = hits, .demand = 100 - hits};
    o.total = o.rows;
    o.setting.policy = buffer::PolicySpec::parse("scored");
    o.setting.capacity = 200;
    o.limits = {.slots = 400, .window = 64, .sample_threads = 4, .fetch_threads = 2};
    o.takes_decisions = true;
    o.twin.setting = o.built_in.setting = o.setting;
    return o;
}

}  // namespace rudder::test
