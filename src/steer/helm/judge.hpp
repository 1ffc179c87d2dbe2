// Scores decisions against what would have happened otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "steer/log/decision_log.hpp"

#include "shadows.hpp"

namespace rudder::steer {

/// Runs two copies of the twin for each decision that is judged: one takes the action, the other
/// does not. After a decision about replacing, both follow the built-in rule; after a change of
/// knobs, each keeps its own. The one with fewer rows after so many steps was right.
class Judge {
public:
    struct Rules {
        std::uint64_t horizon = 16;      ///< steps, the decision's own included
        std::uint64_t set_horizon = 64;  ///< the same after a change of knobs
        std::uint32_t at_once = 1;
    };
    struct Verdict {
        std::uint64_t decision;  ///< as numbered by the caller
        Outcome outcome;
    };

    Judge(Shadows& shadows, const buffer::PolicySpec& built_in, const Rules& rules)
        : shadows_(shadows), built_in_(built_in), rules_(rules) {}

    [[nodiscard]] bool free() const noexcept { return trials_.size() < rules_.at_once; }
    /// A yes or no to replacing in the coming step, before the twin has taken either.
    void replacing(std::uint64_t decision, const Shadow& twin, const buffer::Decision& taken);
    /// A change of the twin's setting, before the twin has made it.
    void setting(std::uint64_t decision, const Shadow& twin, const Setting& changed);
    /// All shadows have taken a step.
    void advanced(double hits, double needed, double stall_seconds);
    /// Those that are complete since it was asked last.
    [[nodiscard]] std::vector<Verdict> take();

private:
    struct Trial {
        std::uint64_t decision;
        Shadow* with;
        Shadow* without;
        std::uint64_t steps;  ///< so many to go
        std::uint64_t horizon;
        bool then_built_in;
        double hits = 0;  ///< of the real buffer
        double needed = 0;
        double stall = 0;
    };
    Trial& open(std::uint64_t decision, const Shadow& twin, std::uint64_t horizon);
    void close(Trial& trial);

    Shadows& shadows_;
    buffer::PolicySpec built_in_;
    Rules rules_;
    std::vector<Trial> trials_;
    std::vector<Verdict> verdicts_;
};

}  // namespace rudder::steer
