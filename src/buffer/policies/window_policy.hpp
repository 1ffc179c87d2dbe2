// Keeps the rows with the nearest next use, as far as the coming steps are known.
#pragma once

#include <cstdint>
#include <vector>

#include "core/huge_vector.hpp"
#include "rudder/buffer/cloned_policy.hpp"
#include "rudder/core/parallel.hpp"

#include "aged_counts.hpp"
#include "worst_first.hpp"

namespace rudder::buffer {

/// How a window policy is set.
struct WindowRules {
    std::uint64_t window = 16;   ///< steps after the current one it may know
    std::uint64_t distance = 0;  ///< steps between a fetch ahead and its use, at most
    double decay = 0.99;         ///< of the counts that rank rows without a known use
    bool inclusion = false;      ///< rank those by inclusion probability instead
};

/// Belady's rule inside the window: after each step, of the rows held and the step's, those with
/// the nearest next use stay; rows without a known use come after them, by aged frequency. A missed
/// row that is to stay is admitted for free.
///
/// To fetch ahead without fetching more, it *plans* `distance` steps ahead of the step in hand with
/// that same rule. The plan says which rows the coming steps will miss, after which use each row
/// is of no more use to it, and so how many slots are idle at the end of each planned step. A row
/// that will be missed is fetched early only into a slot that is idle until then. So the rows
/// fetched are those of the rule with a window shorter by `distance`, and no more.
class WindowPolicy final : public ClonedPolicy<WindowPolicy> {
public:
    WindowPolicy(const PolicyFacts& facts, Residents& residents, const WindowRules& rules);

    [[nodiscard]] std::uint64_t horizon() const noexcept override { return rules_.window; }
    void begin(std::uint64_t step, StepPlan& fill) override;
    void look_ahead(std::uint64_t step, std::span<const RowKey> rows) override;
    void advance(std::uint64_t step, std::span<const RowKey> rows, const Decision& decision,
                 StepPlan& plan) override;
    void capacity_changed(std::uint64_t step, StepPlan& plan) override;
    bool retune(std::uint64_t step, const PolicySpec& spec) override;
    [[nodiscard]] std::uint64_t bytes() const noexcept override;

    /// The rules of a spec of `window`.
    [[nodiscard]] static WindowRules rules_of(const PolicySpec& spec);

private:
    using Step = std::uint32_t;  ///< counted from the one it began with
    static constexpr Step never = 0xffffffffU;
    enum Flag : std::uint8_t { missed = 1, last_use = 2 };

    /// A known step that has not been taken.
    struct Coming {
        std::span<const RowKey> rows;
        std::vector<Step> next;              ///< by position: when the row is used again
        std::vector<std::uint8_t> flags;     ///< by position, once planned
        std::vector<std::uint32_t> pending;  ///< positions planned to be missed, not fetched yet
        std::vector<RowKey> kept;            ///< rows held, as planned, whose next use is here
        std::uint32_t held = 0;              ///< rows held after it, as planned
    };
    /// What is known of a row: half a cache line, so that a row costs one when it is announced and
    /// one when it is planned.
    struct alignas(32) Row {
        double count = 0;        ///< of its uses, aged
        Step next_use = never;   ///< the first known use that is not planned yet
        Step last_step = never;  ///< where its last known use is
        std::uint32_t last_position = 0;
        Step planned_step = never;  ///< where its last planned use is
        std::uint32_t planned_position = 0;
        bool kept = false;  ///< held, at the planned step

        [[nodiscard]] bool kept_beyond() const noexcept { return kept && next_use == never; }
        /// Nothing is known of it but how often it was used.
        void forget() noexcept { *this = {.count = count}; }
    };
    static_assert(sizeof(Row) == 32);
    /// What one chunk of a step came to; the chunks are added up in their order.
    struct Planned {
        struct Use {
            Step step;
            RowKey row;
        };
        std::vector<RowKey>
            first_known;             ///< of a step announced: rows held, of no known use before
        std::vector<Use> again;      ///< rows that stay, and when they are used again
        std::vector<RowKey> beyond;  ///< rows that stay without a known use
        std::vector<std::uint32_t> missed;  ///< positions
        std::uint32_t kept_before = 0;
    };

    /// A step that is known and has not been taken.
    [[nodiscard]] Coming& coming(Step step) noexcept {
        return coming_[step & (coming_.size() - 1)];
    }
    void make_room();
    [[nodiscard]] bool complete() const noexcept;
    [[nodiscard]] double worth(RowKey row) const noexcept;
    void know();
    void announce(Step step);
    void keep_for(Step step, std::span<const RowKey> rows);
    void plan_step();
    void count_step();
    void plan_uses(Step step, double use);
    void plan_chunk(Step step, double use, const Chunk& chunk, Planned& out);
    void leave_beyond(Step step);
    void plan_leaving(Step step);
    void leave_farthest(Step step);
    void evict(RowKey key, Step step);
    void take_step(std::span<const RowKey> rows, StepPlan& plan);
    void fetch_ahead(StepPlan& plan);
    void drop_dead(StepPlan& plan);
    void plan_anew();

    WindowRules rules_;
    std::uint64_t origin_ = 0;
    Step taken_ = 0;              ///< steps taken: the number of the next one
    Step known_ = 0;              ///< one past the last known step
    Step planned_ = 0;            ///< steps planned; at least taken_
    Step counted_ = 0;            ///< steps whose uses were counted
    std::vector<Coming> coming_;  ///< a ring: its size is a power of two; memory stays
    HugeVector<Row> rows_;
    std::size_t kept_ = 0;        ///< rows held at the planned step
    std::size_t kept_known_ = 0;  ///< those of them with a known use
    Step farthest_ = 0;           ///< no row is kept for a step beyond this one
    AgedWeight weight_;           ///< of a use
    WorstFirst<double> beyond_;   ///< kept rows without a known use
    std::vector<RowKey> dead_;    ///< held and not used again: leave at once
    std::vector<Planned> chunks_;
};

}  // namespace rudder::buffer
