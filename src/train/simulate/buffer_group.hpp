// The ranks of a simulation that share a buffer: what their steps need, and what the policy makes
// of it, on ids alone.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "buffer/floor.hpp"
#include "buffer/guarded_buffer.hpp"
#include "buffer/live/step_ids.hpp"
#include "buffer/live_buffer.hpp"
#include "rudder/core/raw_vector.hpp"
#include "steer/helm/helm.hpp"
#include "steer/helm/rule_pilot.hpp"
#include "store/owner_order.hpp"

#include "simulated_ground.hpp"

namespace rudder::train {

/// Rows that an owner is asked for in one message, and what the question takes.
struct RowQuestion {
    std::int32_t owner = 0;
    std::uint32_t rows = 0;
    std::uint32_t bytes = 0;
};

/// Rows that are asked for together, and are in their slots together: a step's, or some of those
/// fetched for the buffer alone (buffer/live/row_slots).
struct FetchedRows {
    std::uint32_t number = 0;
    std::uint64_t rows = 0;
    std::vector<RowQuestion> questions;
};

/// What one rank needs in a step.
struct RankStep {
    Rows rows;  ///< local, saved; with a buffer also hit and demand
    std::uint64_t edges = 0;
    std::uint64_t own = 0;     ///< vertices of the batches whose rows lie on the host
    std::uint64_t others = 0;  ///< and elsewhere
    BatchWork work;
};

/// A step as its ranks begin it.
struct GroupStep {
    std::vector<RankStep> ranks;
    Rows beside;                          ///< replacement, ahead and wasted, told by the first rank
    FetchedRows own;                      ///< what the step lacks
    std::vector<FetchedRows> background;  ///< for the buffer alone
    std::vector<std::uint32_t> awaited;   ///< fetched before, and read: numbers, ascending
    std::vector<std::pair<std::int32_t, std::uint64_t>> by_owner;  ///< rows, by rank asked
    std::uint64_t remote = 0;                                      ///< distinct rows of other hosts
    std::uint64_t ahead = 0;             ///< steps after it that were looked at
    std::optional<buffer::Knobs> knobs;  ///< none: no buffer
    std::optional<buffer::TimeKnobs> times;
};

/// Real schedule, sampler, numbering, policy, guard and pilot; slots hold no rows. A group is used
/// by one thread at a time; several groups side by side.
class BufferGroup {
public:
    /// Ranks [first, last) of one host.
    BufferGroup(const SimulatedGround& ground, int first, int last);

    [[nodiscard]] int first() const noexcept { return first_; }
    [[nodiscard]] int last() const noexcept { return last_; }
    [[nodiscard]] bool buffered() const noexcept { return used_; }
    [[nodiscard]] std::uint64_t slots() const noexcept { return slots_; }
    [[nodiscard]] const buffer::PolicySpec& policy() const noexcept { return policy_; }
    [[nodiscard]] std::uint64_t own_vertices() const noexcept;
    [[nodiscard]] std::uint64_t halo() const noexcept { return facts_.halo.size(); }
    /// Bytes that setting it up takes of the network.
    [[nodiscard]] std::uint64_t setup_bytes() const noexcept { return setup_bytes_; }

    /// Who steers it, before the first step; may be null.
    void steer(std::unique_ptr<steer::Helm> helm);
    [[nodiscard]] steer::Helm* helm() noexcept { return helm_.get(); }
    /// How long a step took, for a window that has a rule of its own.
    void timed(const Seconds& seconds);

    /// Takes the next step. Of rows that were fetched before those from `landed` on may still be on
    /// their way.
    void begin(std::uint64_t step, std::uint32_t landed, GroupStep& out);
    /// Edges of a rank's batches of a step that was published.
    [[nodiscard]] std::uint64_t edges(std::uint64_t step, int rank) const;
    /// After the last step: what no step reported.
    [[nodiscard]] Rows finish();
    /// The fewest rows any policy could have fetched; 0 without a buffer.
    [[nodiscard]] std::uint64_t floor() const;

private:
    struct Published {
        std::vector<buffer::RowKey> rows;  ///< distinct, of other hosts; with a buffer
        std::vector<RankStep> ranks;
        std::vector<std::uint32_t> ends;  ///< of the rows that each rank was the first to need
        FetchedRows pulled;               ///< without a buffer
    };
    using Wanted = store::OwnerOrder<std::uint32_t>;

    void find_local();
    void set_up();
    void find_halo();
    void find_inclusion();
    void fit_window();

    void publish();
    void publish_until(std::uint64_t step);
    void add_rank(int rank, Published& step);
    void list_rank(SimulatedGround::Sampler& sampler, int rank, std::uint64_t step, RankStep& out);
    void pull(Published& step, std::span<const VertexId> remote);
    [[nodiscard]] std::uint64_t steps_ahead() const;
    [[nodiscard]] buffer::BufferPilot* pilot() noexcept;

    void obey(const buffer::PilotOrder& order);
    void carry_out(const buffer::StepPlan& plan);
    void fetch_behind(std::span<const buffer::Placed> placed);
    void fetch_step(const buffer::StepPlan& plan, std::span<const buffer::RowKey> rows,
                    std::uint32_t landed, GroupStep& out);
    /// Questions for rows in the order of their owners.
    void ask(std::span<const VertexId> ids, std::vector<RowQuestion>& questions);
    void count_owners(const FetchedRows& fetched);

    const SimulatedGround& ground_;
    int first_;
    int last_;
    bool used_ = false;
    buffer::PolicySpec policy_;
    std::uint64_t bulk_;  ///< rows of a question, at most; 0: about 256 KiB of them
    std::uint64_t slots_ = 0;
    std::uint64_t setup_bytes_ = 0;
    std::vector<buffer::LocalRange> local_ranges_;
    std::uint64_t parts_ = 0;
    buffer::HaloFacts facts_;
    std::optional<buffer::LocalRows> local_;
    std::optional<buffer::RowNumbering> numbering_;
    std::optional<buffer::DistinctRows> distinct_;
    std::optional<buffer::DistinctRows> own_distinct_;
    std::unique_ptr<buffer::GuardedBuffer> buffer_;
    std::optional<buffer::FloorCounter> floor_;
    std::unique_ptr<steer::Helm> helm_;
    std::unique_ptr<steer::RulePilot> window_rule_;

    std::deque<Published> published_;   ///< not taken yet
    std::uint64_t next_ = 0;            ///< to be taken
    std::uint64_t known_ = 0;           ///< steps before it are published
    std::vector<std::uint32_t> edges_;  ///< by step and rank
    GroupStep extra_;                   ///< of no step: fills and changes
    std::uint32_t next_link_ = 1;
    std::uint64_t reported_wasted_ = 0;
    std::vector<std::uint32_t> written_by_;  ///< by slot

    // Scratch.
    std::vector<VertexId> remote_ids_;
    std::vector<VertexId> local_ids_;
    std::vector<buffer::RowKey> own_rows_;
    std::vector<std::uint32_t> positions_;
    Wanted wanted_;
    std::vector<std::uint64_t> by_owner_;
    std::vector<VertexId> ids_;
    std::vector<std::uint32_t> places_;  ///< of remote ids in their batch
    RawVector<std::byte> question_;
    std::vector<std::uint32_t> seen_links_;
};

}  // namespace rudder::train
