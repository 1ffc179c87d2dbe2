// Sampling and fetching ahead of computing: steps come out with their rows in place.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "buffer/live_buffer.hpp"
#include "core/executor/task_group.hpp"
#include "rudder/core/array.hpp"
#include "rudder/train/records.hpp"
#include "sample/look_ahead.hpp"
#include "store/feature_store.hpp"

namespace rudder::train {

/// A sampled step and the feature rows of each of its batches.
struct AssembledStep {
    sample::SampledStep sampled;
    std::vector<Array<float>> memory;    ///< by own part; grows, never shrinks
    std::vector<std::span<float>> rows;  ///< by own part: its vertices x row_floats
    Rows counts;
    std::vector<std::uint64_t> bytes_by_owner;  ///< of rows asked for by this rank, by rank
    comm::CodedBytes received;                  ///< messages they came in, where there is no buffer
    std::optional<buffer::Knobs> knobs;         ///< as the buffer was set; none: no buffer
    std::optional<buffer::TimeKnobs> times{};   ///< that its pilot ordered before the step
    double fetch_seconds = 0;
    double agent_seconds = 0;  ///< that it began later, since an agent's answer was waited for

    /// Becomes another step, with memory of its own.
    void take_over(AssembledStep& other) {
        std::swap(memory, other.memory);
        *this = std::exchange(other, {});
    }
};

/// Who is told of assembled rows before their step's turn comes. From any task.
class RowsWatcher {
public:
    virtual ~RowsWatcher() = default;
    /// Memory that rows will lie in, and that is about to be freed.
    virtual void begun(std::span<float> memory) = 0;
    virtual void ended(std::span<float> memory) noexcept = 0;
    /// The rows of a batch are there; both stay as they are until the step is released.
    virtual void assembled(const sample::Batch& batch, std::span<const float> rows) = 0;
};

/// Assembles steps in tasks of its own, in order, at most `in_flight` of them at a time (the one
/// handed out included; fewer, where it is told so). Schedule, source, store and buffer must
/// outlive it.
///
/// Changes are safe at any moment and from any task, and none changes what a step computes.
class Pipeline {
public:
    Pipeline(const sample::Schedule& schedule, const sample::NeighbourSource& source,
             store::FeatureStore& store, const sample::SamplerOptions& sampler,
             sample::LookAheadOptions look_ahead, std::uint64_t in_flight,
             buffer::LiveBuffer* buffer = nullptr, RowsWatcher* watcher = nullptr);
    /// Stops, dropping errors.
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    /// The next step, with its rows; waits for it. It stays until `release`. Rethrows what a task
    /// threw.
    [[nodiscard]] AssembledStep& next();
    /// The step handed out last is no longer needed.
    void release();

    /// Ends all tasks, after the steps in hand; collective where ranks share the buffer. To be
    /// called once. What was fetched and not used is in the result.
    Rows stop();

    // Changes of what takes how long. What the buffer's pilot orders of them is done between steps.
    /// Steps that are sampled ahead, at least; as many as the buffer wants to see are anyway.
    void set_window(std::uint64_t window);
    /// At least 1 task samples and 1 fetches, at most look_ahead().most_tasks() sample, and as many
    /// fetch as steps may be in flight: also the step to be computed next may still be fetched.
    /// More are taken for as many. Of steps in flight those that are there stay.
    void set_times(const buffer::TimeKnobs& times);
    /// As they were set.
    [[nodiscard]] buffer::TimeKnobs times() const;

    /// The most bytes that rows of assembled steps have taken so far.
    [[nodiscard]] std::uint64_t row_bytes() const;
    [[nodiscard]] sample::LookAhead& look_ahead() noexcept;

private:
    void halt();
    void end_tasks();

    struct State;
    std::shared_ptr<State> state_;
    TaskGroup tasks_;
};

}  // namespace rudder::train
