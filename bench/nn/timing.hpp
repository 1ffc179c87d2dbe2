// Sides measured in turns, so that whatever disturbs the machine disturbs them alike.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace rudder::bench {

struct Side {
    std::string name;
    std::function<void()> run;
    double milliseconds = 0;  ///< median
};

/// Runs all sides `rounds` times in turns, after one round that is not counted.
inline void measure(std::vector<Side>& sides, int rounds) {
    std::vector<std::vector<double>> times(sides.size());
    for (int round = -1; round < rounds; ++round) {
        for (std::size_t s = 0; s < sides.size(); ++s) {
            const auto start = std::chrono::steady_clock::now();
            sides[s].run();
            const std::chrono::duration<double, std::milli> taken =
                std::chrono::steady_clock::now() - start;
            if (round >= 0) times[s].push_back(taken.count());
        }
    }
    for (std::size_t s = 0; s < sides.size(); ++s) {
        std::ranges::sort(times[s]);
        sides[s].milliseconds = times[s][times[s].size() / 2];
    }
}

}  // namespace rudder::bench
