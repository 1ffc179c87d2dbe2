// The buffer of a training run: a policy on ids, slots with rows, and the steps they serve.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rudder/buffer/buffer_scope.hpp"
#include "rudder/buffer/id_buffer.hpp"
#include "rudder/buffer/knobs.hpp"
#include "rudder/buffer/pilot.hpp"
#include "rudder/comm/communicator.hpp"
#include "sample/look_ahead.hpp"
#include "store/feature_store.hpp"

#include "trace_writer.hpp"

namespace rudder::buffer {

/// What policies may know of the rows around a buffer's parts. Complete on the first rank that
/// shares the buffer; empty elsewhere.
struct HaloFacts {
    std::vector<VertexId> halo;         ///< ascending
    std::vector<std::uint32_t> degree;  ///< by halo row
    std::vector<double> inclusion;      ///< by halo row; may be empty
};

/// A stretch of vertices whose rows lie on this host.
struct LocalRange {
    VertexId begin;
    VertexId end;
};

struct LiveBufferOptions {
    PolicySpec policy;
    SlotId slots = 0;        ///< the capacity may never exceed them
    SlotId floor_slots = 0;  ///< that `floor` may use
    BufferScope scope = BufferScope::host;
    std::uint64_t first_step = 0;
    std::uint64_t last_step = 0;  ///< one past, of the whole run
    VertexId vertices = 0;        ///< of the graph
    std::vector<LocalRange> local;
    /// Of these, rows that the buffer has nothing to do with: it neither loads nor counts them.
    std::vector<LocalRange> apart{};
    std::uint64_t parts = 1;  ///< whose batches make a step, over all ranks that share the buffer
    bool repeats = false;     ///< a batch may name a vertex more than once
    HaloFacts facts;
    /// Told of every step as the buffer takes it: its distinct remote ids. On the first rank.
    std::function<void(std::span<const VertexId>)> record;
    bool count_floor = false;  ///< for `floor`
    /// Shows the steps before `first_step`, for `floor`, where they are known.
    std::function<void(const StepSink&)> past{};
    BufferPilot* pilot = nullptr;  ///< steers it, on the first rank; must outlive the buffer
};

/// What a step came to: its rows, and how many of them each rank was asked for.
struct StepRows {
    Rows counts;
    std::vector<std::uint64_t> by_owner;  ///< rows fetched, by rank
    std::optional<Knobs> knobs;           ///< as the step found them; on the first rank alone
    std::optional<TimeKnobs> times{};     ///< that the pilot has ordered before the step
    double agent_seconds = 0;             ///< that the step's turn waited for its pilot
};

struct StepWork;

/// A step that has begun: the policy has taken it, and what it lacks is on its way. Empty where the
/// buffer was halted before.
class BegunStep {
public:
    BegunStep() noexcept;
    explicit BegunStep(std::unique_ptr<StepWork> work) noexcept;
    BegunStep(BegunStep&&) noexcept;
    BegunStep& operator=(BegunStep&&) noexcept;
    ~BegunStep();

    [[nodiscard]] explicit operator bool() const noexcept { return work_ != nullptr; }
    /// What it came to so far: all but what the first rank tells its members.
    [[nodiscard]] const StepRows& rows() const noexcept;

private:
    friend class LiveBuffer;
    std::unique_ptr<StepWork> work_;
};

/// One rank's side of a buffer. The policy has one owner, the first rank that shares the buffer; it
/// fetches for all of them, and the others get their rows through the host's window.
///
/// Every step is published, in order; then begun, in order; then assembled or dropped. Only the
/// pilot changes it, between steps.
/// Whatever the policy does, and whenever rows arrive, the floats of a batch are those that
/// FeatureStore::pull would give.
class LiveBuffer {
public:
    /// Collective over the ranks that share the buffer. The store must outlive it.
    LiveBuffer(const comm::Communicator& comm, const store::FeatureStore& store,
               LiveBufferOptions options);
    /// Ends its tasks at once.
    ~LiveBuffer();

    /// What a coming step of this rank needs; in the order of steps, one call at a time.
    void publish(const sample::SampledStep& step);
    /// Lets the policy take a published step, in order, and asks for what it lacks. Steps may be
    /// begun while others are assembled. `ahead`: so many steps after it are published, too, or as
    /// many as there is room for.
    [[nodiscard]] BegunStep begin(std::uint64_t step, std::uint64_t ahead = whole_trace);
    /// Sees to it that so many steps after one that begins are published, or as many as there is
    /// room for, and returns once they are. `steps_ahead` says so by then.
    using Sight = std::function<void(std::uint64_t step, std::uint64_t ahead)>;
    /// What is called where a pilot's order makes this rank look further while a step begins; by
    /// tasks of the buffer, too. Empty: nobody publishes more than `begin` was told.
    void set_sight(Sight sight);
    /// Puts the rows of a step that has begun in place. False if the buffer was halted before they
    /// came.
    [[nodiscard]] bool assemble(BegunStep step, std::span<const store::RowsWanted> wanted,
                                StepRows& rows);
    /// Instead of that: nobody needs the step any more. What it came to, and was wasted.
    [[nodiscard]] Rows drop(BegunStep step);

    /// No further step begins; those that have begun are assembled to their end.
    void halt();
    /// Collective over the ranks that share the buffer, after `halt` and the end of all calls of
    /// `assemble` and `publish`: waits for all rows under way. What no call of `assemble` reported,
    /// with what was fetched and never used.
    [[nodiscard]] Rows finish();

    /// At most so many rows from the next step on, and less memory: all rows leave first. For when
    /// memory is short; a limit is never raised. Nothing on ranks that are not the first.
    void limit(SlotId most);
    /// Its policy and capacity (0 on ranks that are not the first).
    [[nodiscard]] Knobs knobs() const;
    /// Steps after the next one that policy or pilot want to see; ranks that are not the first are
    /// told by it.
    [[nodiscard]] std::uint64_t steps_ahead() const;
    /// A step has been done: `received` is not asked for earlier ones any more.
    void step_done(std::uint64_t step);
    /// Waits until the rows that steps up to this one, the last that was done, fetched or had
    /// fetched for the buffer have landed: the messages they came in, counted; none on ranks that
    /// are not the first.
    [[nodiscard]] comm::CodedBytes received(std::uint64_t step) const;
    /// Memory of the slots, and of rows under way, on this rank.
    [[nodiscard]] std::uint64_t slot_bytes() const;
    [[nodiscard]] std::uint64_t landing_bytes() const;
    /// CPU time of the policy and of the numbering of rows, on this rank; and of the pilot.
    [[nodiscard]] double policy_seconds() const noexcept;
    [[nodiscard]] double pilot_seconds() const noexcept;
    /// The fewest rows any policy could have fetched for the steps so far (with `count_floor`),
    /// past ones included, in `floor_slots`; 0 on ranks that are not the first.
    [[nodiscard]] std::uint64_t floor() const;
    [[nodiscard]] bool first() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::buffer
