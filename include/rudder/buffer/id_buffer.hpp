// A buffer on ids alone: a policy, what it holds, what is coming, and the accounts.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "rudder/buffer/policy.hpp"
#include "rudder/core/rows.hpp"

namespace rudder::buffer {

/// Runs one policy over the steps of a run, live, in replay or as a shadow. Policy, parameters and
/// capacity may change between any two steps; what it holds stays as far as it fits. The plans tell
/// whoever keeps the feature rows what to do; a shadow ignores them.
class IdBuffer {
public:
    /// `slots` is the most the capacity may ever be. The rows of `facts` are numbered by the
    /// caller, before they are published or advanced.
    IdBuffer(const PolicySpec& spec, const PolicyFacts& facts, SlotId slots, SlotId capacity,
             std::uint64_t first_step = 0);
    IdBuffer& operator=(const IdBuffer&) = delete;

    /// A copy that goes on exactly as this one would. It may outlive this one, not the facts; the
    /// rows that were published must stay valid until both have taken their steps.
    [[nodiscard]] std::unique_ptr<IdBuffer> clone() const;

    /// What to fetch before the first step. Empty after it.
    [[nodiscard]] const StepPlan& fill() const noexcept { return fill_; }
    /// The rows of a step that is coming; in order of steps. They must stay valid until that step
    /// was advanced. May be called for any step ahead: the policy is shown as many as its window
    /// has.
    void publish(std::uint64_t step, std::span<const RowKey> rows);
    /// Takes the next step, which must have been published. The plan is valid until the next call
    /// that changes anything.
    const StepPlan& advance(const Decision& decision = {});

    /// Another policy or other parameters from the next step on. What happens at once is in the
    /// plan that is returned. A usage Error where the policy lacks facts it needs; then nothing has
    /// changed.
    const StepPlan& set_policy(const PolicySpec& spec);
    /// Another capacity, at most `slots`.
    const StepPlan& set_capacity(SlotId capacity);

    /// Another capacity, with which only as many slots are used, the lowest: all rows leave first.
    const StepPlan& cut(SlotId most);

    [[nodiscard]] std::uint64_t next_step() const noexcept { return next_; }
    /// How many steps after the one to be advanced are worth publishing.
    [[nodiscard]] std::uint64_t horizon() const noexcept { return policy_->horizon(); }
    /// Rows that a replacement in the next step could bring in, at most.
    [[nodiscard]] std::uint64_t replaceable() const { return policy_->replaceable(next_); }
    [[nodiscard]] const PolicySpec& spec() const noexcept { return spec_; }
    [[nodiscard]] const Residents& residents() const noexcept { return residents_; }
    [[nodiscard]] const Rows& accounts() const noexcept { return accounts_; }
    /// Rows here that were fetched for the buffer and not used yet.
    [[nodiscard]] std::uint64_t unused() const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept;

    // For whoever puts it in the place of another buffer.
    [[nodiscard]] bool unused_at(SlotId slot) const noexcept { return unused_[slot] != 0; }
    /// Of the rows that the last plan lets go, by their place in it: 1: fetched and never used.
    [[nodiscard]] std::span<const std::uint8_t> left_unused() const noexcept {
        return left_unused_;
    }
    void set_unused(SlotId slot, bool unused) noexcept { unused_[slot] = unused ? 1 : 0; }
    /// Its accounts go on from those.
    void stand_in(const Rows& accounts) noexcept { accounts_ = accounts; }

private:
    IdBuffer(const IdBuffer& other);
    void look_up(std::span<const RowKey> rows);
    void account(const StepPlan& plan);
    /// Lets a policy that was made for it begin.
    void start(std::unique_ptr<Policy> policy);

    PolicySpec spec_;
    PolicyFacts facts_;
    Residents residents_;
    std::unique_ptr<Policy> policy_;
    std::deque<std::span<const RowKey>> published_;  ///< steps next_, next_ + 1, ...
    std::uint64_t next_;
    std::uint64_t shown_;  ///< steps before this one the policy knows
    StepPlan fill_;
    StepPlan plan_;
    std::vector<std::uint8_t> unused_;  ///< by slot: fetched for the buffer, not used yet
    std::vector<std::uint8_t> left_unused_;
    Rows accounts_;
};

}  // namespace rudder::buffer
