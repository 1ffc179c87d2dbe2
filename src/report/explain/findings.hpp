// What limits a run: findings, each with its evidence, what to change and what that would gain.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "explained_run.hpp"

namespace rudder::report {

enum class Confidence : std::uint8_t { low, medium, high };
[[nodiscard]] std::string_view to_string(Confidence confidence) noexcept;

/// One number that a finding rests on.
struct Evidence {
    std::string metric;  ///< "seconds.wait_rows"
    double value = 0;    ///< in the file's unit, or of a step where the text says so
    std::string text;    ///< as it is read: "12.31 ms of a step, 61 %"
    std::string file;    ///< "summary.json"
};

struct Finding {
    std::string_view cause;  ///< "slow link": a word of a closed list, for programs
    std::string text;        ///< one sentence that opens with the cause
    std::vector<Evidence> evidence;
    std::string change;          ///< what to do about it
    std::optional<double> gain;  ///< share of the run's time that this would save
    std::string formula;         ///< by which it was found
    Confidence confidence = Confidence::medium;
};

/// One rule: the cause it looks for, and what it finds, if anything.
struct FindingRule {
    std::string_view cause;
    std::optional<Finding> (*find)(const ExplainedRun& run);
};
[[nodiscard]] std::span<const FindingRule> finding_rules() noexcept;

/// Findings of all rules, the largest gain first; those that cost no time, or little, last.
[[nodiscard]] std::vector<Finding> findings_of(const ExplainedRun& run);

}  // namespace rudder::report
