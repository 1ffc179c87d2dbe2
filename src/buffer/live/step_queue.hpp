// What coming steps need: split, numbered, merged over the ranks that share a buffer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "core/executor/monitor.hpp"

#include "host_exchange.hpp"
#include "step_ids.hpp"
#include "step_turns.hpp"

namespace rudder::buffer {

/// A published step as this rank needs it.
struct OwnStep {
    std::vector<std::uint32_t> before;     ///< by piece of its batches: remote ids before it
    std::vector<std::uint32_t> positions;  ///< by remote id, in its list of rows; empty: in order
    std::size_t remote = 0;                ///< distinct

    [[nodiscard]] std::size_t position(std::size_t id) const noexcept {
        return positions.empty() ? id : positions[id];
    }
};

/// What a rank has in a step of all who share the buffer.
struct RankShare {
    std::vector<std::uint32_t> positions;  ///< of its remote ids; empty: it is alone
    std::uint32_t begin = 0;               ///< rows it was the first to need
    std::uint32_t end = 0;
    Rows counts;
};

/// A published step as the buffer sees it.
struct SharedStep {
    std::vector<RowKey> rows;
    std::vector<RankShare> shares;
};

/// Steps that are published and not begun. Tells the turns how many of them are complete.
class StepQueue {
public:
    /// `first`: of the ranks that share the buffer; `members`: how many they are, 0: it is alone.
    StepQueue(const LiveBufferOptions& options, bool first, std::size_t members, StepTurns& turns);

    /// A step of this rank; in order, one call at a time. Members send it through the exchange.
    void publish(const sample::SampledStep& step, HostExchange* exchange);
    /// On the first rank: what a member needs in a step.
    void add(int member, std::uint64_t step, RankNeeds needs);

    /// Hands out this rank's side of a step, once. The memory of what was there is used again.
    void take_own(std::uint64_t step, OwnStep& out);
    /// On the first rank: the rows of all complete steps from `step` on. Valid until each is taken
    /// and done with.
    [[nodiscard]] std::vector<std::span<const RowKey>> rows_from(std::uint64_t step);
    /// On the first rank: hands out the next step. The memory of what was there is used again.
    void take(SharedStep& out);

    [[nodiscard]] const LocalRows& local() const noexcept { return local_; }
    /// Of the buffer's rows, on the first rank.
    [[nodiscard]] RowNumbering& numbering() noexcept { return numbering_; }

private:
    /// Tells remote ids from local ones, on all threads.
    void split(const sample::SampledStep& step, OwnStep& own);
    void list_ids(const OwnStep& own);
    /// Rows that are apart are counted by nobody.
    void leave_apart(const sample::SampledStep& step);
    [[nodiscard]] bool is_apart(VertexId v) const noexcept;
    void publish_alone(std::uint64_t number, OwnStep own);
    [[nodiscard]] OwnStep spare_own();
    [[nodiscard]] SharedStep spare_shared();
    /// Steps that all ranks have published become the buffer's, in the order of the parts. How
    /// many there are.
    std::uint64_t merge();

    StepTurns& turns_;
    LocalRows local_;
    std::vector<LocalRange> apart_;  ///< of the local ones, ascending
    RowNumbering numbering_;
    DistinctRows distinct_;       ///< over the rows of a shared step
    RowNumbering own_numbering_;  ///< of this rank's rows, where several share the buffer
    DistinctRows own_distinct_;

    Monitor monitor_;  ///< guards what follows
    std::map<std::uint64_t, OwnStep> own_steps_;
    std::vector<std::map<std::uint64_t, RankNeeds>> needs_;  ///< by member: published, not merged
    std::deque<SharedStep> shared_;
    std::uint64_t complete_;  ///< steps before it are, or were, in `shared_`
    std::vector<OwnStep> spare_own_;
    std::vector<SharedStep> spare_shared_;

    // Scratch of `publish`.
    std::vector<StepPiece> pieces_;
    std::vector<std::size_t> starts_;  ///< of each piece in the step
    RawVector<VertexId> remote_ids_;
    RawVector<VertexId> local_ids_;  ///< where somebody has to see them
    std::size_t local_count_ = 0;
};

}  // namespace rudder::buffer
