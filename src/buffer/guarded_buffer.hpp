// A buffer that is steered, and the account of what steering has cost.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rudder/buffer/id_buffer.hpp"
#include "rudder/buffer/pilot.hpp"

namespace rudder::buffer {

/// Runs an IdBuffer, and from the first change on the built-in rule beside it, on all ids. What is
/// about to be fetched is known before it is: where the bound of the terms would be passed, the
/// built-in rule takes the place of what steers, with what it holds. So the bound holds after every
/// step, whoever changes what and how often.
///
/// In words: excess is what was fetched beyond the built-in rule, refill what it would take to put
/// its rows in place of those that are here. excess + refill never exceeds the allowance. In the
/// step in which it would, rows that are here are read, the others fetched, and the built-in rule's
/// rows that are then missing: at most refill more than that rule fetches itself in the step. From
/// then on both do the same. docs/agents.md has the proof.
///
/// Slots of plans are places in memory: rows keep theirs when the built-in rule takes over.
class GuardedBuffer {
public:
    using PlanSink = std::function<void(const StepPlan&)>;

    GuardedBuffer(const PolicySpec& spec, const PolicyFacts& facts, SlotId slots, SlotId capacity,
                  std::uint64_t first_step = 0);

    /// Before the first step.
    void guard(const GuardTerms& terms);

    [[nodiscard]] const IdBuffer& ids() const noexcept { return *ids_; }
    [[nodiscard]] const StepPlan& fill() const noexcept { return ids_->fill(); }
    /// How many steps after the one to be advanced are worth publishing.
    [[nodiscard]] std::uint64_t horizon() const noexcept;
    /// As IdBuffer::publish.
    void publish(std::uint64_t step, std::span<const RowKey> rows);
    /// Makes a change, whose plans are shown to `planned` (may be empty). Nothing changes where the
    /// account does not allow it: `take_overruled` says so.
    void change(const BufferChange& given, const PlanSink& planned = {});
    /// From here on at most so many rows, in the lowest places: all that are here leave. Where
    /// there are terms the built-in rule goes on: that costs nothing while both are empty.
    void cut(SlotId most, const PlanSink& planned = {});
    /// The most rows there can be.
    [[nodiscard]] SlotId most() const noexcept { return slots_; }
    /// The built-in rule takes the next step, where it runs beside; else `advance` does it.
    void follow();
    /// As IdBuffer::advance.
    const StepPlan& advance(const Decision& decision = {});

    /// What was refused or taken back since it was asked last.
    [[nodiscard]] std::optional<Overruled> take_overruled();
    [[nodiscard]] bool guarded() const noexcept { return terms_.has_value(); }
    [[nodiscard]] GuardAccount account() const;
    /// CPU time of all that is done for the account: the built-in rule beside, and changes with
    /// what it takes to try them.
    [[nodiscard]] std::uint64_t nanoseconds() const noexcept { return spent_; }
    /// Memory, in bytes: of the built-in rule's, too.
    [[nodiscard]] std::uint64_t bytes() const noexcept;

private:
    [[nodiscard]] std::int64_t excess() const noexcept;
    /// What excess and refill may come to.
    [[nodiscard]] std::int64_t allowance() const noexcept;
    [[nodiscard]] bool over(std::int64_t excess_and_refill) const noexcept;
    void attempt(const BufferChange& change, const PlanSink& planned);
    void make(const BufferChange& change, const PlanSink& planned);
    void overrule(Overruled::Kind kind, std::int64_t would_be);
    [[nodiscard]] const StepPlan& in_place(const StepPlan& plan);
    /// The built-in rule takes over: in the step of these rows, which both have planned, or between
    /// two steps.
    const StepPlan& go_back(std::span<const RowKey> rows, const StepPlan* discarded);

    SlotId slots_;  ///< that may be used
    PolicyFacts facts_;
    std::uint64_t first_step_;
    std::optional<GuardTerms> terms_;
    SlotId filling_ = 0;  ///< of the terms, as they were given
    std::unique_ptr<IdBuffer> ids_;
    std::unique_ptr<IdBuffer> rival_;  ///< null while the buffer does what the built-in rule does
    bool followed_ = false;            ///< it has taken the step that is next
    std::int64_t refill_ = 0;          ///< rows that it holds and the buffer does not
    std::int64_t debt_ = 0;            ///< excess of earlier times
    Rows before_;                      ///< accounts before the step under way
    std::deque<std::span<const RowKey>> steps_;  ///< published, not taken
    std::vector<SlotId> places_;                 ///< by slot of `ids_`; empty: the same
    StepPlan placed_;                            ///< a plan with places instead of slots
    std::optional<Overruled> overruled_;
    std::atomic<std::uint64_t> spent_{0};
};

}  // namespace rudder::buffer
