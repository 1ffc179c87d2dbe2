// How agents are asked, whose buffers they steer, and how samples of decisions are collected.
#pragma once

#include <cstdint>

namespace rudder::steer {

/// How an agent is asked: beside training; beside it, but training waits for the answer; or by a
/// plain call (replay).
enum class AgentMode : std::uint8_t { async, sync, inline_call };
/// Whose buffers one agent steers: each rank's own, those of a host, or all of the job.
enum class AgentScope : std::uint8_t { rank, host, job };

/// Of collecting samples: nobody steers, and both answers are tried.
struct CollectOptions {
    std::uint64_t seed = 0;
    std::uint64_t horizon = 16;  ///< steps over which both answers are compared
    std::uint64_t stride = 1;    ///< labels one step in so many, drawn
    std::uint32_t sample = 16;   ///< shadows of the observation follow one id in so many
};

}  // namespace rudder::steer
