// Keeps agents from doing harm: a circuit breaker, and taking changes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rudder/steer/knobs.hpp"

#include "harm_watch.hpp"

namespace rudder::steer {

/// Opens after three failures in a row, or at once; while open, the built-in rule holds. Tries
/// again after a pause that doubles each time it opens again without a success between.
class Breaker {
public:
    static constexpr std::uint32_t most_failures = 3;
    static constexpr std::uint64_t first_pause = 64;  ///< steps
    static constexpr std::uint64_t longest_pause = 4096;

    /// Whether the agent may be asked at this step.
    [[nodiscard]] bool closed(std::uint64_t step) const noexcept { return step >= open_until_; }
    void succeeded() noexcept;
    /// True if this failure opened it.
    bool failed(std::uint64_t step);
    /// Opens it for `reason`; one failure after the pause opens it again. Nothing happens to one
    /// that is open.
    void open(std::uint64_t step, std::string reason);
    [[nodiscard]] std::uint32_t openings() const noexcept { return openings_; }
    /// Why it opened last, and the step at which it closes.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    [[nodiscard]] std::uint64_t open_until() const noexcept { return open_until_; }

private:
    std::uint32_t failures_ = 0;
    std::uint32_t openings_ = 0;
    std::uint64_t pause_ = first_pause;
    std::uint64_t open_until_ = 0;
    std::string reason_;
};

/// What the guard found wrong, and what to do about it.
struct GuardFinding {
    std::string reason;
    std::optional<Setting> back_to{};  ///< take the last change back; none: the agent is suspended
};

/// Compares what an agent does with the built-in rule. A change that costs more is taken back;
/// decisions that cost more over three blocks in a row suspend the agent, and so do three failures
/// in a row to answer.
class Guard {
public:
    /// `overrules`: not an agent that is a fixed rule the user asked for.
    Guard(CostKind cost, bool overrules) : harm_(cost), overrules_(overrules) {}

    /// Whether it may take a change back.
    [[nodiscard]] bool overrules() const noexcept { return overrules_; }
    /// A setting is put in place at this step; `undoable` is what it may be taken back to.
    void changed(std::uint64_t step, std::optional<Setting> undoable = {});
    /// Rows that the twin and the built-in rule fetched in a step.
    void rows(double twin, double built_in) { harm_.rows(twin, built_in); }
    void step_seconds(std::uint64_t step, double seconds) { harm_.step_seconds(step, seconds); }
    /// Whether a block has ended without harm since the last change.
    [[nodiscard]] bool held() const noexcept { return harm_.good_blocks() > 0; }

    /// What to do at the end of a block that did harm. `now`: the setting that holds; `decides`:
    /// its policy asks the agent when to replace; `busy`: something else is about to change.
    [[nodiscard]] std::optional<GuardFinding> find(std::uint64_t step, const Setting& now,
                                                   const Setting& fallback, bool decides,
                                                   bool busy);
    /// The agent failed to answer; true if that suspended it.
    bool failed(std::uint64_t step);
    void succeeded() noexcept { breaker_.succeeded(); }
    /// The built-in rule has taken over: the agent pauses.
    void suspend(std::uint64_t step, const std::string& why);
    /// The agent answers again; true if it was suspended.
    bool recovered() noexcept;

    [[nodiscard]] const Breaker& breaker() const noexcept { return breaker_; }

private:
    [[nodiscard]] bool blame(std::uint64_t step, const std::string& why);

    HarmWatch harm_;
    bool overrules_;
    Breaker breaker_;
    bool suspended_ = false;                ///< the built-in rule holds
    std::optional<Setting> before_change_;  ///< the last one
    std::uint32_t harmful_ = 0;             ///< blocks in a row in which its decisions did harm
    std::uint64_t good_before_ = 0;         ///< good blocks there were at the last of them
};

/// "agent 'bandit' suspended (3 failed answers); using scored,every:16 until step 120".
[[nodiscard]] std::string suspension_text(std::string_view agent, const Breaker& breaker,
                                          const buffer::PolicySpec& built_in);

}  // namespace rudder::steer
