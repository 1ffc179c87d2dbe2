// Whoever steers a buffer: sees its steps, and says what is to change between them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/buffer/id_buffer.hpp"
#include "rudder/core/fields.hpp"

namespace rudder::buffer {

/// A change of a buffer between two steps, the policy first. What it holds stays as far as it fits.
struct BufferChange {
    std::optional<PolicySpec> policy{};
    std::optional<SlotId> capacity{};  ///< at most the slots there are
};

/// Those of the knobs that act on time alone, and not on ids, and are set by each rank for itself.
struct TimeKnobs {
    std::uint64_t bulk = 0;  ///< rows per message, at most; 0: about 256 KiB
    std::uint64_t sample_threads = 1;
    std::uint64_t fetch_threads = 1;
    std::uint64_t demand_first = 1;  ///< rows that steps wait for pass those fetched ahead; 0: not
    std::uint64_t in_flight = 2;     ///< assembled steps at a time

    static constexpr auto fields = field_list(
        field("bulk", &TimeKnobs::bulk), field("sample_threads", &TimeKnobs::sample_threads),
        field("fetch_threads", &TimeKnobs::fetch_threads),
        field("demand_first", &TimeKnobs::demand_first), field("in_flight", &TimeKnobs::in_flight));

    friend bool operator==(const TimeKnobs&, const TimeKnobs&) = default;
};
static_assert(lists_all_fields<TimeKnobs>);

/// What is to be done before a step. Whoever runs the steps does it.
struct PilotOrder {
    Decision decision{};                  ///< for this step alone
    std::vector<BufferChange> changes{};  ///< in this order; they stay
    std::optional<TimeKnobs> times{};     ///< likewise
};

/// What steering may cost: at no step more rows may have been fetched than the built-in rule would
/// have fetched by then, and a share of that, and one filling of its buffer.
struct GuardTerms {
    PolicySpec built_in;
    SlotId capacity = 0;  ///< of the built-in rule: one filling
    double share = 0.01;
    bool holds = true;  ///< false: only counted
};

/// Rows from the first step on.
struct GuardAccount {
    std::uint64_t fetched = 0;
    std::uint64_t built_in = 0;  ///< that the built-in rule would have fetched
    std::uint64_t refill = 0;    ///< that would put its rows in place of those that are there
    bool beside = false;         ///< they may differ: it runs beside the buffer
    double cpu_seconds = 0;      ///< of running it, where that is measured
};

/// A change that was not made, or the built-in rule that has taken over, since the bound would have
/// been passed.
struct Overruled {
    enum class Kind { refused, went_back } kind;
    std::string reason;
};

/// Steers one buffer, live or in replay. Called on the first rank that shares the buffer, by
/// whoever runs its steps, one call at a time and without a lock, for every step in turn:
/// `published` some steps early, then `prepare`, `before` and `after`. A run may end after any
/// call. What a pilot throws ends the run.
class BufferPilot {
public:
    virtual ~BufferPilot() = default;
    /// What the policies it runs beside the real one need to know from the start; before any step.
    virtual void start(const PolicyFacts& facts, const IdBuffer& buffer) = 0;
    /// How many steps after the one to come it wants to see published, at least; asked before
    /// every step. More may be.
    [[nodiscard]] virtual std::uint64_t horizon() const { return 0; }
    /// The rows of a step that is coming, in order of steps. Valid until its `after`.
    virtual void published(std::uint64_t step, std::span<const RowKey> rows) = 0;
    /// It is the step's turn. The only call that may wait.
    virtual void prepare(std::uint64_t /*step*/) {}
    /// What is to change before the step, of the buffer as the step before has left it. A policy
    /// that lacks facts it needs (`check_policy`) ends the run.
    [[nodiscard]] virtual PilotOrder before(std::uint64_t step, const IdBuffer& buffer) = 0;
    /// The step was taken; the accounts are the buffer's, this step included.
    virtual void after(std::uint64_t step, const Rows& accounts) = 0;

    /// What it may cost, asked once, after `start`; nothing: whatever it likes.
    [[nodiscard]] virtual std::optional<GuardTerms> guard_terms() const { return std::nullopt; }
    /// Before the `after` of a step: not all that was ordered before the step was done. What went
    /// back is set as the terms say.
    virtual void overruled(std::uint64_t /*step*/, const Overruled& /*what*/) {}
    /// Before the `before` of a step: memory is short, and from here on there are at most so many
    /// slots. All rows have left, and the built-in rule is in place where there are terms.
    virtual void limited(std::uint64_t /*step*/, SlotId /*most*/) {}
    /// Before the `after` of every step, where there are terms.
    virtual void accounted(const GuardAccount& /*account*/) {}
};

}  // namespace rudder::buffer
