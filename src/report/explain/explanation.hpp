// A run explained, or two compared: as text for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "rudder/core/json_fwd.hpp"

#include "findings.hpp"

namespace rudder::report {

/// An option that differs between two runs.
struct SettingChange {
    std::string option;  ///< as in config.toml
    std::string before;  ///< empty: not given
    std::string after;
    std::string_view acts_on;  ///< key of the part of a step that it acts on; empty: on any
};

/// A part of a step, or the step, in two runs; seconds.
struct TimeChange {
    std::string_view words;
    std::string_view key;
    double before = 0;
    double after = 0;
    [[nodiscard]] double difference() const noexcept { return after - before; }
};

/// What differs between two runs, and what of it explains their times.
struct RunDifference {
    TimeChange step;
    std::vector<TimeChange> parts;  ///< of a step, the largest difference first
    std::vector<SettingChange> settings;
    std::string explanation;  ///< one sentence
};
[[nodiscard]] RunDifference difference_of(const ExplainedRun& before, const ExplainedRun& after);

/// One finding: its sentence, evidence, change, gain and how sure it is.
[[nodiscard]] std::string finding_text(const Finding& finding);
/// Findings first, each with its number, then the times of a step. `words` replace the findings'
/// own lines where a language model gave them.
[[nodiscard]] std::string explanation_text(const ExplainedRun& run,
                                           const std::vector<Finding>& findings,
                                           const std::string& words = {});
[[nodiscard]] std::string difference_text(const ExplainedRun& before, const ExplainedRun& after,
                                          const RunDifference& difference);

[[nodiscard]] Json finding_json(const Finding& finding);
[[nodiscard]] Json explanation_json(const ExplainedRun& run, const std::vector<Finding>& findings);
[[nodiscard]] Json difference_json(const RunDifference& difference);

}  // namespace rudder::report
