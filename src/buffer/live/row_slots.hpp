// The feature rows of a buffer: slots, and the rows on their way into them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "core/executor/monitor.hpp"
#include "core/executor/task_group.hpp"
#include "core/huge_vector.hpp"
#include "rudder/buffer/policy.hpp"
#include "rudder/core/array.hpp"
#include "store/feature_store.hpp"
#include "store/owner_order.hpp"

#include "landing.hpp"

namespace rudder::buffer {

/// Carries out the plans of a policy. Steps read and change slots one after the other in the
/// policy's mind, but overlap in fact: a slot is written only when all who read what was there
/// before have done so, and who needs a row that has not reached its slot reads it where it landed.
///
/// Plans become *links* of a chain: a step's (what it reads; what it fetched on demand, of which
/// some rows go to slots), or rows fetched for the buffer alone. Links are put into their slots in
/// the order of the chain, each after its rows have landed and its step has been read. So a slot
/// needs no lock or count of its own: it knows the last link that was to write to it, and holds the
/// row if that link has left the chain.
class RowSlots {
public:
    struct Link;
    /// A row of a step that has not reached its slot: where it is in the link that fetches it.
    struct LateRow {
        std::uint32_t position;
        std::uint32_t index;
        std::uint32_t link;  ///< its number; once the step is planned, its place in `awaited`
    };
    /// Where the rows of one step are or will be. May be used for step after step.
    struct Sources {
        std::vector<const std::byte*> rows;  ///< by position in the step; whole after `wait`
        std::uint64_t demand = 0;
        std::vector<std::uint64_t> demand_by_owner;  ///< rows, by rank

    private:
        friend class RowSlots;
        std::vector<LateRow> late;  ///< rows that lie, or will, where they landed
        std::vector<std::shared_ptr<Link>> awaited;
        std::shared_ptr<Link> own;
    };

    RowSlots(const store::FeatureStore& store, SlotId slots);
    /// Ends its tasks at once; rows under way land where nobody looks.
    ~RowSlots();

    /// Takes a step's plan. `rows` are the step's, numbered by `numbering`. What the step lacks is
    /// not asked for before `ask`.
    void plan_step(const StepPlan& plan, std::span<const RowKey> rows,
                   const RowNumbering& numbering, Sources& out);
    /// Rows to fetch for the buffer; they are asked for off the critical path. Adds to
    /// `by_owner` (by rank) how many each owner is asked for.
    void plan_background(std::span<const Placed> placed, const RowNumbering& numbering,
                         std::span<std::uint64_t> by_owner);
    /// For a profile: which of the rows fetched for the buffer this step is the first to use.
    /// Before `plan_step`.
    void note_uses(const StepPlan& plan, std::uint64_t step);
    /// Waits until few enough rows are queued to be fetched for the buffer: a policy that replaces
    /// faster than the network fetches is held up here.
    void wait_for_room();
    void ask(Sources& sources);
    /// Waits until all rows of the step can be read.
    void wait(Sources& sources);
    /// The step has been read.
    void done(Sources& sources);
    /// Waits until every row under way is in its slot; nothing may be planned any more.
    void finish();

    /// All plans so far belong to steps up to this one.
    void mark(std::uint64_t step);
    /// Waits until the rows of all plans up to that mark have landed: the messages they came in,
    /// counted as they came. Every step up to it must have been read.
    [[nodiscard]] comm::CodedBytes received(std::uint64_t step);
    /// Marks of steps before this one are not asked for any more.
    void forget_marks(std::uint64_t step);

    /// Slots from this one on are not used any more: once all that was planned so far has been read
    /// and put away, their memory is given back.
    void give_back(SlotId from);
    /// Rows to be fetched for the buffer that have not been asked for.
    [[nodiscard]] std::uint64_t queued_rows() const;
    [[nodiscard]] std::uint64_t slot_bytes() const noexcept {
        return slots_used_.load(std::memory_order_relaxed) * row_bytes_;
    }
    [[nodiscard]] std::uint64_t landing_bytes() const { return pool_->bytes(); }

private:
    /// Rows to fetch, for a position in the step or for a slot.
    using WantedRows = store::OwnerOrder<std::uint32_t>;
    /// Of a slot: the last link that was to write to it, and the row's place there.
    struct Writer {
        std::uint32_t link = 0;
        std::uint32_t index = 0;
    };

    void find_rows(const StepPlan& plan, std::span<const RowKey> rows,
                   const RowNumbering& numbering, Sources& out);
    void find_chunk(const StepPlan& plan, std::span<const RowKey> rows,
                    const RowNumbering& numbering, const Chunk& chunk, Sources& out);
    void land_wanted(const StepPlan& plan, Link& link, Sources& out);
    void await_late(Sources& out);
    void write_to(SlotId slot, const Link& link, std::uint32_t index);
    [[nodiscard]] std::shared_ptr<Link> take_link();
    [[nodiscard]] std::shared_ptr<Link> make_bulk(std::size_t behind, std::size_t rows);
    void let_go(std::shared_ptr<Link>& link);
    void fetch(const std::shared_ptr<Link>& link);
    void ask_in_background();
    void put_into_slots();
    void put(const Link& link);
    template <class Body>
    void guarded(Body&& body);

    const store::FeatureStore& store_;
    std::size_t row_bytes_;
    Array<std::byte> slots_;
    std::shared_ptr<LandingPool> pool_;
    std::size_t bulk_rows_;  ///< of one background link, at most
    std::atomic<std::size_t> slots_used_;

    mutable Monitor monitor_;  ///< guards what follows
    std::deque<std::shared_ptr<Link>> chain_;
    std::deque<std::shared_ptr<Link>> unasked_;
    std::vector<std::shared_ptr<Link>> idle_;
    std::uint32_t first_ = 1;            ///< number of the chain's first link
    std::uint64_t unasked_rows_ = 0;     ///< of `unasked_`
    std::uint64_t background_rows_ = 0;  ///< asked for and not in their slots
    comm::CodedBytes received_;          ///< of links that have left the chain
    struct Mark {
        std::uint64_t step;
        std::uint32_t link;         ///< the last that belongs to it
        comm::CodedBytes received;  ///< once that has left
    };
    std::deque<Mark> marks_;
    bool finishing_ = false;
    std::exception_ptr failure_;

    // Of whoever plans; planning is one at a time.
    HugeVector<Writer> written_by_;          ///< by slot
    std::vector<std::uint32_t> fetched_by_;  ///< by slot: link of a row not used yet; may be empty
    // Scratch of one plan.
    std::vector<std::shared_ptr<Link>> links_;  ///< of the chain, as the plan found it
    std::uint32_t first_link_ = 1;              ///< number of the first of them
    WantedRows wanted_;
    std::vector<std::vector<LateRow>> late_;  ///< by chunk
    HugeVector<std::uint32_t> landed_at_;     ///< by position

    TaskGroup tasks_;
};

}  // namespace rudder::buffer
