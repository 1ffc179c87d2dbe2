// One agent over one trace, and what it cost.
#pragma once

#include <string_view>
#include <vector>

#include "rudder/core/text.hpp"
#include "steer/steered_replay.hpp"

namespace rudder::bench {

struct SteeredRun {
    steer::SteeredResult result;
    double later = 0;  ///< rows after the first epoch, all hosts
};

/// `what` is POLICY@AGENT[@SHARE]; SHARE of the buffer's rows to start with.
inline SteeredRun steered_run(const buffer::Trace& trace, double fraction, std::string_view what) {
    const auto parts = split(what, '@');
    steer::SteeredCase one{.policy = buffer::PolicySpec::parse(parts[0]),
                           .size = {.fraction = fraction, .rows = 0},
                           .agent = steer::AgentSpec::parse(parts.size() > 1 ? parts[1] : "never")};
    if (parts.size() > 2) one.start_share = parse_double(parts[2]).value();
    std::vector<std::uint64_t> early(trace.size(), 0);
    steer::SteeredOptions options;
    options.judged_at_once = 1;
    options.watch = [&](std::size_t host, std::uint64_t step, const Rows& rows) {
        const buffer::TraceHeader& header = trace[host]->header();
        if (step + 1 == header.first_step + header.steps_per_epoch) early[host] = rows.fetched();
    };
    SteeredRun run;
    run.result = steer::steered_replay(trace, one, options);
    run.later = static_cast<double>(run.result.rows.fetched());
    for (const std::uint64_t rows : early)
        run.later -= static_cast<double>(rows);
    return run;
}

}  // namespace rudder::bench
