// When things happen in a simulated run: steps begin, rows come, ranks compute, sums are there.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "rudder/core/seconds.hpp"
#include "train/steps/gradient_exchange.hpp"

#include "buffer_group.hpp"
#include "events.hpp"
#include "fabric.hpp"
#include "kept_values.hpp"

namespace rudder::train {

/// What a step of a rank came to on the clock.
struct RankTimes {
    Seconds seconds;
    StepPace pace;
};

/// Follows train's pipeline: a group begins one step ahead of those that are assembled, at most
/// `in_flight` of a rank are; rows are asked for when a step begins, or behind those that steps
/// wait for; a rank computes once its rows are there, and all wait for the sums. One thread; the
/// same plans give the same times.
class Timeline {
public:
    struct Group {
        int first = 0;
        int last = 0;
        bool buffered = false;
        std::uint64_t slots = 0;
    };
    struct Asked {
        /// The plan of a step that a group is about to begin, whose fetched rows before `landed`
        /// have come; valid until the rank's step is done.
        std::function<const GroupStep&(std::size_t group, std::uint64_t step)> plan;
        /// Edges that a rank draws for a step.
        std::function<std::uint64_t(int rank, std::uint64_t step)> edges;
        /// All ranks have done a step; `times` by rank.
        std::function<void(std::uint64_t step, const std::vector<RankTimes>& times)> done;
    };

    Timeline(const ClusterModel& cluster, const TrainOptions& options,
             const std::vector<Group>& groups, const SumBytes& sums, std::uint64_t parameters,
             std::uint64_t row_bytes, std::uint64_t steps, Asked asked);

    /// To the end of the last step.
    void run();
    [[nodiscard]] Duration now() const noexcept { return events_.now(); }
    /// Of a group: all that it fetched before this number has come.
    [[nodiscard]] std::uint32_t landed(std::size_t group) const {
        return groups_[group].first_link;
    }

private:
    /// Rows on their way to a group.
    struct Landing {
        std::uint32_t left = 0;  ///< answers that have not come
        bool asked = false;
    };
    struct Begun {
        const GroupStep* plan = nullptr;
        Duration start{0};
        bool here = false;  ///< its rows
    };
    struct GroupState {
        Group group;
        std::uint64_t next = 0;   ///< step to begin
        std::uint64_t begun = 0;  ///< steps that have begun
        bool beginning = false;
        bool waits = false;                  ///< an event says when it may begin
        std::deque<Begun> steps{};           ///< begun, not done by all ranks
        std::uint64_t first_step = 0;        ///< of `steps`
        std::deque<Landing> links{};         ///< by number
        std::uint32_t first_link = 1;        ///< of `links`
        std::deque<FetchedRows> behind{};    ///< to be asked for behind what steps wait for
        std::uint64_t behind_rows = 0;       ///< in them
        std::uint64_t under_way = 0;         ///< rows of those that were asked for
        std::vector<Duration> started{};     ///< when each step began
        Duration sending{0};                 ///< until then its questions leave one by one
        KeptValues<RowMessage> questions{};  ///< to leave
    };
    struct Assembly {
        Duration ready{0};  ///< own rows are in place
        bool going = false;
        bool there = false;
    };
    struct RankState {
        std::size_t group = 0;
        std::uint64_t placed = 0;     ///< steps that have a place
        std::uint64_t assembled = 0;  ///< all before are there
        std::uint64_t done = 0;
        std::uint64_t in_flight = 2;
        std::uint64_t active = 1;
        std::deque<Assembly> places{};  ///< from `done` on
        bool computing = false;
        Duration last{0};     ///< when its last step was done
        Duration sampled{0};  ///< when its last sampled step was
        std::uint64_t drawn = 0;
        Duration serving{0};  ///< until then it writes answers
        Duration computed{0};
    };
    /// When all contributions to a host's pieces have come, and all sums.
    struct HostSums {
        Duration pieces{0};
        Duration sums{0};
    };
    /// The sums of a step: while some hosts wait for theirs, others compute the next one.
    struct StepSums {
        std::vector<HostSums> hosts;
        int ranks_ready = 0;
        int hosts_summed = 0;
        int hosts_done = 0;
    };

    [[nodiscard]] static Duration seconds(double amount, double per_second);
    void handle(const EventQueue::Event& event);
    void try_begin(std::size_t group);
    [[nodiscard]] bool may_begin(const GroupState& g) const;
    [[nodiscard]] Duration sampled_by(std::size_t group, std::uint64_t step, std::uint64_t ahead);
    void begun(std::size_t group);
    void ask(std::size_t group, const FetchedRows& rows, bool ahead);
    void ask_behind(std::size_t group);
    [[nodiscard]] Landing& link(GroupState& g, std::uint32_t number);
    void send_question(std::size_t group, std::uint64_t number);
    void come(const RowMessage& message);
    void served(std::uint32_t number);
    void answered(const RowMessage& message);
    void find_landed(std::size_t group);
    void try_place(int rank);
    void try_assemble(int rank);
    [[nodiscard]] bool rows_here(GroupState& g, std::uint64_t step);
    void assembled(int rank, std::uint64_t step);
    void try_compute(int rank);
    [[nodiscard]] Duration compute_time(const RankStep& step) const;
    void send_gradients(int rank, bool last);
    void computed(int rank);
    void summed(int host, std::uint64_t step);
    void done(int host, std::uint64_t step);
    void end_step(std::uint64_t step);
    [[nodiscard]] Duration message_time() const;
    [[nodiscard]] Duration update_time() const;
    [[nodiscard]] StepSums& sums_of(std::uint64_t step) { return sums_of_[step % 2]; }
    [[nodiscard]] RankTimes& times_of(int rank, std::uint64_t step) {
        return times_[step % times_.size()][index(rank)];
    }
    [[nodiscard]] const GroupStep& plan_of(int rank, std::uint64_t step) const;
    [[nodiscard]] static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

    ClusterModel cluster_;
    std::uint64_t in_flight_;
    std::uint64_t window_;
    const SumBytes& sums_;
    std::uint64_t parameters_;
    std::uint64_t row_bytes_;
    std::uint64_t steps_;
    Asked asked_;
    EventQueue events_;
    Fabric fabric_;
    std::vector<GroupState> groups_;
    std::vector<RankState> ranks_;
    std::array<StepSums, 2> sums_of_;            ///< by step, in turn
    std::vector<std::vector<RankTimes>> times_;  ///< likewise, of those in flight
    KeptValues<RowMessage> answers_;             ///< being written
};

}  // namespace rudder::train
