// Runs agents over a recorded trace, on ids alone: cost is rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rudder/buffer/replay.hpp"
#include "steer/helm/helm.hpp"

namespace rudder::steer {

/// One agent with one policy to start from.
struct SteeredCase {
    buffer::PolicySpec policy;
    buffer::BufferSize size;
    AgentSpec agent;
    /// Rows to start with, as a share of the size; the agent may go up to the size.
    double start_share = 1;
};

struct SteeredOptions {
    std::uint64_t seed = 0;
    std::uint32_t sample = 16;          ///< shadows follow one id in so many
    std::uint32_t judged_at_once = 16;  ///< decisions under judgement
    double guard = 0.01;                ///< as buffer::GuardTerms::share
    std::string run{};                  ///< what decision logs are told apart by
    bool force = false;                 ///< take a log of another run
    bool refit = false;                 ///< as AgentFacts::refit
    LlmOptions llm{};                   ///< as AgentFacts::llm
    /// Called after each step of each host with the rows fetched so far, if given.
    std::function<void(std::size_t host, std::uint64_t step, const Rows& rows)> watch{};
};

struct SteeredResult {
    std::uint64_t capacity = 0;  ///< rows, over all hosts
    Rows rows;                   ///< over all hosts
    HelmTotals agent;
    std::vector<DecisionRecord> decisions;  ///< by step, then host
    std::vector<std::string> learned;       ///< by host
};

/// One host: what was fetched. Agents are asked by plain calls, so that the result depends on
/// nothing but the trace and the seed.
[[nodiscard]] SteeredResult steered_replay(const buffer::Trace& trace, const SteeredCase& one,
                                           const SteeredOptions& options = {});

/// What tells one trace from another in decision logs.
[[nodiscard]] std::string run_of(const buffer::Trace& trace);

}  // namespace rudder::steer
