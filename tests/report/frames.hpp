// Steps made up for tests of sinks.
#pragma once

#include <string>

#include "report/sink.hpp"

namespace rudder::test {

/// Steps from `first` on, of so many ranks; the value of metric m is 1000 x step + 10 x rank + m.
inline report::StepBatch some_steps(std::uint64_t first, std::size_t steps, std::size_t ranks,
                                    const std::string& policy = "window:16") {
    report::StepBatch batch;
    batch.owners = ranks;
    batch.policies.push_back({policy, "\"distance\":2", true});
    for (std::size_t i = 0; i < steps * ranks; ++i) {
        report::StepFrame frame;
        frame.step = first + i / ranks;
        frame.epoch = static_cast<std::uint32_t>(frame.step / 10);
        frame.rank = static_cast<std::uint32_t>(i % ranks);
        for (std::size_t m = 0; m < report::metric_count; ++m)
            frame.values[m] = static_cast<double>(1000 * frame.step + 10 * frame.rank + m);
        batch.steps.push_back(frame);
        for (std::size_t owner = 0; owner < ranks; ++owner)
            batch.bytes_by_owner.push_back(100 * frame.step + owner);
    }
    return batch;
}

}  // namespace rudder::test
