// The steps of a buffer as its policy takes them, on the first rank that shares it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "buffer/floor.hpp"
#include "buffer/guarded_buffer.hpp"
#include "buffer/live_buffer.hpp"

#include "row_slots.hpp"
#include "step_queue.hpp"

namespace rudder::buffer {

/// Nanoseconds of CPU: of all bookkeeping, and of the pilot within it.
struct BufferClocks {
    std::atomic<std::uint64_t> bookkeeping{0};
    std::atomic<std::uint64_t> piloting{0};
};

/// Policy, pilot and slots belong to the step whose turn it is, so that none of them is used under
/// a lock. What the pilot orders is done here, between two steps.
class BufferSteps {
public:
    /// Store, queue, turns and clocks must outlive it.
    BufferSteps(const store::FeatureStore& store, LiveBufferOptions options, std::size_t ranks,
                StepQueue& queue, StepTurns& turns, BufferClocks& clocks);

    /// Waits for the step's turn and lets the policy take it. False if halted before.
    [[nodiscard]] bool begin(std::uint64_t number, SharedStep& step, RowSlots::Sources& sources,
                             StepRows& rows);
    /// Called where a pilot's order makes policy or pilot look further while a step begins: members
    /// are told, and this rank publishes that far; before the first step.
    void set_look(LiveBuffer::Sight look) { look_ = std::move(look); }
    /// As LiveBuffer::limit.
    void limit(SlotId most) noexcept { limit_ = most; }
    [[nodiscard]] RowSlots& slots() noexcept { return slots_; }
    [[nodiscard]] const RowSlots& slots() const noexcept { return slots_; }
    /// As the last step that began found them.
    [[nodiscard]] Knobs knobs() const;
    /// As LiveBuffer::steps_ahead.
    [[nodiscard]] std::uint64_t steps_ahead() const;
    /// After the last step: waits for all rows under way. What no step reported.
    [[nodiscard]] Rows finish();
    /// As LiveBuffer::floor.
    [[nodiscard]] std::uint64_t floor() const;

private:
    [[nodiscard]] PolicyFacts facts() const;
    /// Counts the floor from here on, after the steps before the first where they are known.
    void begin_floor();
    /// Policy and pilot are told of steps that were published since.
    void announce();
    /// Keeps to a limit that was set since.
    void obey_limit(std::uint64_t number);
    /// What the pilot says before a step; changes of the buffer are made.
    [[nodiscard]] PilotOrder obey_pilot(std::uint64_t number);
    void count_guard();
    /// Waits until as much is published as policy and pilot want to see by now, if that is more
    /// than before; false if halted.
    [[nodiscard]] bool see_further(std::uint64_t number, std::uint64_t before);
    /// The policy takes the next step, after the pilot's order.
    const StepPlan& advance(std::uint64_t number, const PilotOrder& order);
    /// Fetches what a change or a step asked for beside the step's own rows.
    void carry_out(const StepPlan& plan);
    void note_knobs(bool changed);
    /// Rows that left unused since it was asked last.
    [[nodiscard]] std::uint64_t newly_wasted();
    /// For the floor and the trace.
    void note(std::span<const RowKey> rows);

    LiveBufferOptions options_;
    LiveBuffer::Sight look_;
    std::size_t ranks_;
    StepQueue& queue_;
    StepTurns& turns_;
    BufferClocks& clocks_;
    GuardedBuffer buffer_;
    std::uint64_t known_;  ///< steps before it policy and pilot know
    std::uint64_t guarding_ =
        0;  ///< ns of CPU of the buffer's guard that are counted as the pilot's
    std::atomic<SlotId> limit_;  ///< of the capacity, from the next step on
    StepRows extra_;             ///< of no step: fills and changes
    std::uint64_t reported_wasted_ = 0;
    std::optional<FloorCounter> floor_;
    std::vector<VertexId> recorded_;  ///< the ids of a step, for the trace
    RowSlots slots_;                  ///< its tasks end before what they use goes

    mutable Monitor monitor_;  ///< guards what follows
    Knobs knobs_;
    std::uint64_t ahead_ = 0;
};

}  // namespace rudder::buffer
