// What a rank's side of a buffer is made of.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "rudder/buffer/live_buffer.hpp"

#include "host_exchange.hpp"
#include "row_slots.hpp"
#include "step_ids.hpp"

namespace rudder::buffer {

/// A published step as this rank needs it.
struct OwnStep {
    std::vector<std::uint32_t> positions;  ///< by vertex of all batches, in its list of remote ids
    std::size_t remote = 0;                ///< distinct
};

/// What a rank has in a step of all who share the buffer.
struct RankShare {
    std::vector<std::uint32_t> positions;  ///< of its remote ids; empty: it is alone
    std::uint32_t begin = 0;               ///< rows it was the first to need
    std::uint32_t end = 0;
    RankCounts counts;
};

/// A published step as the buffer sees it.
struct SharedStep {
    std::vector<RowKey> rows;
    std::vector<RankShare> shares;
};

/// live_publish.cpp: what steps need; live_steps.cpp: taking them; live_buffer.cpp: the rest.
struct LiveBuffer::State {
    const store::FeatureStore& store;
    LiveBufferOptions options;
    std::size_t ranks;
    LocalRows local;
    RowNumbering numbering;      ///< of the buffer's rows, on the first rank
    DistinctRows distinct;       ///< over the rows of a shared step
    RowNumbering own_numbering;  ///< of this rank's rows, where several share the buffer
    DistinctRows own_distinct;
    std::shared_ptr<LandingPool> pool;  ///< of members

    std::atomic<std::uint64_t> bookkeeping{0};  ///< nanoseconds of CPU, the pilot's included
    std::atomic<std::uint64_t> piloting{0};

    Monitor monitor;  ///< guards what follows
    std::map<std::uint64_t, OwnStep> own_steps;
    std::vector<std::map<std::uint64_t, RankNeeds>> needs;  ///< by member: published, not merged
    std::vector<std::uint64_t> wanted;                      ///< by member: one past
    std::deque<SharedStep> shared;                          ///< published and not begun
    std::uint64_t merged;                                   ///< steps before it are in `shared`
    std::uint64_t next;                                     ///< the step to begin
    std::uint64_t told;                                     ///< steps before it the pilot knows
    std::uint64_t pilot_horizon = 0;
    bool preparing = false;  ///< the pilot is busy with the next step
    StepRows extra;          ///< of no step: fills and changes
    std::uint64_t reported_wasted = 0;
    std::uint64_t first_kept;  ///< the step that `history` begins with
    std::vector<RowKey> history;
    std::vector<std::uint64_t> history_ends;
    bool halted = false;
    std::exception_ptr failure;

    // Scratch of `publish`, which is one call at a time.
    std::vector<VertexId> remote_ids;
    std::vector<VertexId> local_ids;
    std::vector<std::uint32_t> places;
    std::vector<std::uint32_t> positions;

    // Destroyed in the reverse order: tasks end before what they use goes.
    std::unique_ptr<IdBuffer> ids;           ///< on the first rank
    std::unique_ptr<RowSlots> slots;         ///< on the first rank
    std::unique_ptr<HostExchange> exchange;  ///< where several share the buffer

    State(const comm::Communicator& comm, const store::FeatureStore& s, LiveBufferOptions o);
    /// Steps before the first that count for the floor.
    void remember(const TraceSteps& past);
    static bool shares(const comm::Communicator& comm, const LiveBufferOptions& options);
    static bool is_first(const comm::Communicator& comm, const LiveBufferOptions& options);
    [[nodiscard]] PolicyFacts facts() const;
    void start();
    void join(const comm::Communicator& host);

    void publish(const sample::SampledStep& step);
    /// Tells remote ids from local ones.
    void split(const sample::SampledStep& step, OwnStep& own);
    void number(DistinctRows& in, std::vector<RowKey>& rows, OwnStep& own);
    void publish_alone(OwnStep& own);
    /// Steps that all ranks have published become the buffer's, in the order of the parts.
    void merge();
    /// The step last added to `shared` is complete: the policy and the pilot may know it.
    void announce();
    void tell_pilot();

    /// Carries out what a change or a step asked for beside the step's own rows.
    void carry_out(const StepPlan& plan);
    /// Changes, under the monitor.
    void set_policy(const PolicySpec& policy);
    void set_capacity(std::uint64_t rows);
    /// Rows that left unused since it was asked last.
    [[nodiscard]] std::uint64_t newly_wasted();
    [[nodiscard]] BufferKnobs knobs() const;
    [[nodiscard]] bool turn(std::uint64_t step) const;
    /// Waits for the step's turn; false if halted before.
    [[nodiscard]] bool wait_for_turn(Monitor::Lock& lock, std::uint64_t step);
    /// Lets the pilot prepare for a step whose turn it is; false if halted before.
    [[nodiscard]] bool prepare(std::uint64_t step);
    /// The policy takes the next step, as the pilot says.
    const StepPlan& advance();
    /// Waits for the step's turn and lets the policy take it. False if halted before.
    [[nodiscard]] bool begin(std::uint64_t number, SharedStep& step, RowSlots::Sources& sources,
                             StepRows& rows);
    void record(std::span<const RowKey> rows) const;
    [[nodiscard]] OwnStep take_own(std::uint64_t step);
    [[nodiscard]] bool assemble_first(const sample::SampledStep& step,
                                      std::span<const store::RowsWanted> wants, StepRows& rows);
    [[nodiscard]] bool assemble_member(const sample::SampledStep& step,
                                       std::span<const store::RowsWanted> wants, StepRows& rows);
    /// Remote rows to floats, on all threads.
    void decode(const OwnStep& own, std::span<const std::byte* const> rows,
                std::span<const store::RowsWanted> wants) const;

    static void add(const RankCounts& of, RowCounts& counts);
};

/// The first rank's buffer as its pilot may change it, while the monitor is held.
class LiveControl final : public BufferControl {
public:
    explicit LiveControl(LiveBuffer::State& state) : state_(state) {}
    [[nodiscard]] const PolicySpec& policy() const override { return state_.ids->spec(); }
    [[nodiscard]] SlotId capacity() const override { return state_.ids->residents().capacity(); }
    [[nodiscard]] SlotId slots() const override { return state_.options.slots; }
    void set_policy(const PolicySpec& spec) override { state_.set_policy(spec); }
    void set_capacity(SlotId rows) override { state_.set_capacity(rows); }
    [[nodiscard]] const IdBuffer& buffer() const override { return *state_.ids; }

private:
    LiveBuffer::State& state_;
};

}  // namespace rudder::buffer
