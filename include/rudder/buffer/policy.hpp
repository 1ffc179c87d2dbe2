// A replacement policy: on ids alone, which rows stay, which leave, which are fetched.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "rudder/buffer/policy_spec.hpp"
#include "rudder/buffer/residents.hpp"
#include "rudder/buffer/row_numbering.hpp"

namespace rudder::buffer {

/// What a policy may know from the start. What the spans show must outlive the policy; arrays
/// beside the numbering may be empty, and policies that need them then refuse.
struct PolicyFacts {
    const RowNumbering* rows = nullptr;
    std::span<const std::uint32_t> halo_degree;  ///< by halo row
    std::span<const double> inclusion;           ///< by halo row: uses expected per step
    std::span<const std::uint8_t> listed;        ///< by step: 1 replaces (`listed`)
    std::uint64_t steps = 0;                     ///< of the whole run; 0: not known
};

/// What an agent says about this step; without one, nothing is replaced.
struct Decision {
    bool replace = false;
    double fraction = 1;  ///< of the capacity, at most
};

/// A missed row that is kept: the row at `position` of the step goes to `slot`.
struct Admitted {
    std::uint32_t position;
    SlotId slot;
    friend bool operator==(const Admitted&, const Admitted&) = default;
};

/// What happens in one step, in this order: hits are read from their slots; rows leave; missed
/// rows that are admitted, and rows that are fetched, take their slots. A slot may change its row
/// within one step, so it must not be written before its hit was read. The residents show the
/// state after the step.
struct StepPlan {
    std::vector<SlotId> slots;  ///< by position in the step; no_slot: a miss
    std::uint32_t hits = 0;
    std::vector<Placed> leave;
    std::vector<Admitted> admit;      ///< free: the row was fetched for the step
    std::vector<Placed> replacement;  ///< fetched only to fill the buffer
    std::vector<Placed> ahead;        ///< fetched for a coming step that is known to need them

    void clear();
};

/// A policy. It advances in logical steps, whose rows are distinct and in order of first
/// appearance; it changes the residents itself. Not safe from several tasks at once.
class Policy {
public:
    virtual ~Policy() = default;
    Policy& operator=(const Policy&) = delete;

    /// A copy that goes on as this one would, on a copy of its residents, with the same facts
    /// wherever they lie now. Rows it was told of must stay valid for the copy, too.
    [[nodiscard]] virtual std::unique_ptr<Policy> clone(const PolicyFacts& facts,
                                                        Residents& residents) const = 0;

    /// How many steps after the current one it wants to see.
    [[nodiscard]] virtual std::uint64_t horizon() const noexcept { return 0; }
    /// Starts before step `step` with whatever the residents hold; what it fetches at once, and
    /// what leaves, goes to `fill`.
    virtual void begin(std::uint64_t step, StepPlan& fill);
    /// Step `step` will need these rows; in order of steps, each once, before its `advance`, and at
    /// most horizon() ahead. The span stays valid until that step has been advanced. Policies
    /// with a horizon are told of every step, others of none.
    virtual void look_ahead(std::uint64_t step, std::span<const RowKey> rows);
    /// Takes the step: fills `plan`, whose slots and hits are already there.
    virtual void advance(std::uint64_t step, std::span<const RowKey> rows, const Decision& decision,
                         StepPlan& plan) = 0;
    /// The residents' capacity was changed, after step `step` - 1: rows beyond it leave, and static
    /// policies fetch what now fits.
    virtual void capacity_changed(std::uint64_t step, StepPlan& plan) = 0;
    /// Takes over other parameters while running; false if it has to be made anew.
    virtual bool retune(std::uint64_t step, const PolicySpec& spec);
    /// Rows that a replacement in step `step` could bring in, at most; 0 where it takes no
    /// decisions.
    [[nodiscard]] virtual std::uint64_t replaceable(std::uint64_t /*step*/) const { return 0; }
    /// Memory of its state, in bytes.
    [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;

protected:
    Policy(const PolicyFacts& facts, Residents& residents)
        : facts_(facts), residents_(&residents) {}
    Policy(const Policy&) = default;
    /// Of a copy: from now on it has its own.
    void bind(const PolicyFacts& facts, Residents& residents) {
        facts_ = facts;
        residents_ = &residents;
    }

    /// Takes a row out, and says so.
    void leave(RowKey row, StepPlan& plan) { plan.leave.push_back({row, residents_->remove(row)}); }
    [[nodiscard]] RowKey known() const noexcept { return facts_.rows->size(); }
    [[nodiscard]] RowKey halo() const noexcept { return facts_.rows->halo(); }

    PolicyFacts facts_;
    Residents* residents_;
};

/// An unlimited horizon: all steps of a recorded trace.
inline constexpr std::uint64_t whole_trace = std::numeric_limits<std::uint64_t>::max();

/// Makes the policy of a spec. A usage Error where the facts lack what it needs.
[[nodiscard]] std::unique_ptr<Policy> make_policy(const PolicySpec& spec, const PolicyFacts& facts,
                                                  Residents& residents);
/// Refuses (usage Error) a policy that lacks facts it needs, as make_policy does.
void check_policy(const PolicySpec& spec, const PolicyFacts& facts);

}  // namespace rudder::buffer
