// Sampling and fetching ahead of computing: steps come out with their rows in place.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/executor/executor.hpp"
#include "rudder/sample/look_ahead.hpp"
#include "rudder/store/feature_store.hpp"

namespace rudder {

/// A sampled step and the feature rows of each of its batches.
struct AssembledStep {
    SampledStep sampled;
    std::vector<Array<float>> memory;    ///< by own part; grows, never shrinks
    std::vector<std::span<float>> rows;  ///< by own part: its vertices x width floats
    PullAccounts pulled;
    double fetch_seconds = 0;
};

/// Assembles steps in tasks of its own, in order, at most `in_flight` of them at a time (the one
/// handed out included). Schedule, source and store must outlive it.
class Pipeline {
public:
    Pipeline(const Schedule& schedule, const NeighbourSource& source, const FeatureStore& store,
             const SamplerOptions& sampler, LookAheadOptions look_ahead, std::uint64_t in_flight);
    /// Stops, dropping errors.
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    /// The next step, with its rows; waits for it. It stays until `release`. Rethrows what a task
    /// threw.
    [[nodiscard]] AssembledStep& next();
    /// The step handed out last is no longer needed.
    void release();

    /// Ends all tasks, after the pulls in hand; what was assembled and not used is in the result.
    PullAccounts stop();

    /// The most bytes that rows of assembled steps have taken so far.
    [[nodiscard]] std::uint64_t row_bytes() const;
    [[nodiscard]] LookAhead& look_ahead() noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
    std::vector<Task> tasks_;
};

}  // namespace rudder
