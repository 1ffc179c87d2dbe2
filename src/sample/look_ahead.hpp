// The look-ahead queue: batches sampled before they are needed, across the ends of epochs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/executor/task_group.hpp"
#include "rudder/sample/batch.hpp"

#include "sampler.hpp"
#include "schedule.hpp"

namespace rudder::sample {

/// All batches of one global step that this rank computes, in the order of its parts.
struct SampledStep {
    std::uint32_t epoch = 0;
    std::uint64_t step = 0;
    std::vector<Batch> batches;
    double seconds = 0;  ///< spent sampling it
};

struct LookAheadOptions {
    std::uint64_t window = 16;     ///< steps sampled ahead at most; at least 1
    std::uint64_t first_step = 0;  ///< global
    std::uint64_t last_step = 0;   ///< one past
    std::uint64_t max_bytes = 0;   ///< of all batches that wait (one may always); 0: no limit
    int tasks = 1;                 ///< that sample side by side
    int most_tasks = 0;            ///< that ever may; 0: as many as `tasks`
    std::vector<PartId> parts;     ///< of this rank
    /// Told of every step, in order, once it is sampled and before it can be taken: the ids it will
    /// need. Called by one task at a time.
    std::function<void(const SampledStep&)> published;
};

/// Samples steps in tasks of its own and hands them out in order. What is handed out does not
/// depend on window or tasks.
class LookAhead {
public:
    /// Schedule and source must outlive it.
    LookAhead(const Schedule& schedule, const NeighbourSource& source,
              const SamplerOptions& sampler, LookAheadOptions options);
    /// Stops its tasks (they finish the step in hand).
    ~LookAhead();
    LookAhead(LookAhead&&) = delete;

    /// The next step; waits for it. Rethrows what a sampling task threw. Past the last: an empty
    /// one with step == last_step.
    [[nodiscard]] SampledStep take();
    /// Waits until `step` is sampled and told of, or as much as the queue has room for (its window,
    /// its bytes, the last step), so that who comes after sees as much of the future in every run.
    void wait_published(std::uint64_t step) const;
    /// Gives a step's memory back, to be filled again.
    void recycle(SampledStep step);
    /// Steps before `end` that are not being sampled yet are not: they come without seeds.
    void pass_over(std::uint64_t end);
    /// Another window from now on; what is already sampled stays.
    void set_window(std::uint64_t window);
    /// Another limit of the bytes that wait; memory kept for steps to come is given back.
    void set_max_bytes(std::uint64_t bytes);
    /// So many tasks sample from now on, 1 to most_tasks(); others finish the step in hand and
    /// rest.
    void set_tasks(int tasks);
    [[nodiscard]] int tasks() const;
    [[nodiscard]] int most_tasks() const noexcept;
    /// Steps sampled and not yet taken, and the bytes they hold.
    [[nodiscard]] std::uint64_t waiting() const;
    [[nodiscard]] std::uint64_t waiting_bytes() const;
    /// Stops its tasks; nothing more can be taken.
    void stop();

private:
    struct State;
    std::shared_ptr<State> state_;
    TaskGroup tasks_;
};

}  // namespace rudder::sample
