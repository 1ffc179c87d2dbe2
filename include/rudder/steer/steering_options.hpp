// How agents are asked, whose buffers they steer, and how samples of decisions are collected.
#pragma once

#include <cstdint>

namespace rudder::steer {

/// How an agent is asked: beside training; beside it, but training waits for the answer; or by a
/// plain call (replay).
enum class AgentMode : std::uint8_t { async, sync, inline_call };
/// Whose buffers one agent steers: each rank's own, those of a host, or all of the job.
enum class AgentScope : std::uint8_t { rank, host, job };

/// Who is to learn from what is collected: classifiers, which say when to replace, or language
/// models, which choose among all actions.
enum class CollectFor : std::uint8_t { classifier, llm };

/// Of collecting decisions: nobody steers, and what could be answered is tried.
struct CollectOptions {
    CollectFor purpose = CollectFor::classifier;
    std::uint64_t seed = 0;
    std::uint64_t horizon = 16;   ///< steps over which answers are compared
    std::uint64_t stride = 1;     ///< tries one step (llm: one question) in so many, drawn
    std::uint32_t sample = 16;    ///< shadows of the observation follow one id in so many
    std::uint64_t interval = 16;  ///< llm: steps between two questions
    bool guarded = false;         ///< llm: harmful changes are refused and taken back, as in a run
};

}  // namespace rudder::steer
