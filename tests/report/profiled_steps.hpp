// A made-up profile of one rank: steps of which it is known what they wait for.
#pragma once

#include <string>

#include "core/profile.hpp"

namespace rudder::test {

/// Nanoseconds of each step, one after the other on the main thread: waiting until fetching begins,
/// waiting while it goes on, computing.
struct ProfiledStep {
    std::uint64_t before_fetch = 0;
    std::string waiting = "a sampled step";  ///< for what, until fetching begins
    std::uint64_t messages = 0;              ///< of fetching, which waits for others
    std::uint64_t copying = 1'000'000;       ///< of fetching
    std::uint64_t computing = 4'000'000;
    bool policy = false;          ///< the policy's turn takes the place of the wait
    std::uint64_t slow_from = 0;  ///< from this step on evaluation goes on beside, and ...
    std::uint64_t slow_by = 0;    ///< ... computing takes so much longer; 0: never
};

inline RankProfile profiled_steps(std::uint64_t steps, const ProfiledStep& each) {
    using Kind = ProfileEvent::Kind;
    RankProfile rank;
    rank.host = "here";
    rank.names = {"training",   "computing", "waiting for rows", "fetching rows", "sampling",
                  each.waiting, "messages",  "policy",           "evaluating"};
    std::vector<ProfileEvent> main, fetch, beginning, sampler;
    std::uint64_t at = 0;
    std::uint64_t slow_at = 0;
    for (std::uint64_t step = 0; step < steps; ++step) {
        const bool slow = each.slow_by != 0 && step >= each.slow_from;
        const std::uint64_t fetching = at + each.before_fetch;
        const std::uint64_t made = fetching + each.messages + each.copying;
        const std::uint64_t end = made + each.computing + (slow ? each.slow_by : 0);
        if (slow && slow_at == 0) slow_at = at;
        beginning.push_back({at, fetching, each.policy ? step : no_step, no_step,
                             each.policy ? 7U : 5U, each.policy ? Kind::span : Kind::wait});
        sampler.push_back({at, fetching, step, no_step, 4, Kind::span});
        fetch.push_back({fetching, fetching + each.messages, no_step, no_step, 6, Kind::wait});
        fetch.push_back({fetching, made, step, no_step, 3, Kind::span});
        main.push_back({at, made, step, no_step, 2, Kind::span});
        main.push_back({made, end, step, no_step, 1, Kind::span});
        main.push_back({at, end, step, no_step, 0, Kind::span});
        at = end;
    }
    rank.end = at;
    rank.threads = {{"main", std::move(main)},
                    {"fetch 0", std::move(fetch)},
                    {"beginning", std::move(beginning)},
                    {"sampler 0", std::move(sampler)}};
    if (each.slow_by != 0)
        rank.threads.push_back({"evaluation", {{slow_at, at, no_step, no_step, 8, Kind::span}}});
    return rank;
}

}  // namespace rudder::test
