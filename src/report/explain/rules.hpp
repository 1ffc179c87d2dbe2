// The rules of findings: each looks for one cause.
#pragma once

#include "findings.hpp"

namespace rudder::report {

/// The causes, as programs read them; a finding's text opens with the same words.
namespace cause {
inline constexpr std::string_view slow_link = "slow link";
inline constexpr std::string_view slow_host = "one slow host";
inline constexpr std::string_view skewed_parts = "skewed parts";
inline constexpr std::string_view no_look_ahead = "no look-ahead";
inline constexpr std::string_view no_buffer = "no buffer";
inline constexpr std::string_view one_thread = "one thread";
inline constexpr std::string_view shared_cores = "shared cores";
inline constexpr std::string_view evaluation = "evaluation each step";
inline constexpr std::string_view tiny_batches = "tiny batches";
inline constexpr std::string_view slow_sampling = "slow sampling";
inline constexpr std::string_view slow_assembling = "slow assembling";
inline constexpr std::string_view slow_policy = "slow policy";
inline constexpr std::string_view evaluation_beside = "evaluation during training";
inline constexpr std::string_view waiting_agent = "agent that steps wait for";
inline constexpr std::string_view costly_agent = "agent that costs rows";
inline constexpr std::string_view few_steps = "too few steps per epoch";
inline constexpr std::string_view one_host = "one host";
}  // namespace cause

using MaybeFinding = std::optional<Finding>;

// Of the network and the buffer.
[[nodiscard]] MaybeFinding find_slow_link(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_no_look_ahead(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_no_buffer(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_one_host(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_waiting_agent(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_costly_agent(const ExplainedRun& run);
// Of computing and the schedule.
[[nodiscard]] MaybeFinding find_slow_host(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_skewed_parts(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_one_thread(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_shared_cores(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_evaluation(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_tiny_batches(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_few_steps(const ExplainedRun& run);
// Of what a profile alone shows.
[[nodiscard]] MaybeFinding find_slow_sampling(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_slow_assembling(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_slow_policy(const ExplainedRun& run);
[[nodiscard]] MaybeFinding find_evaluation_beside(const ExplainedRun& run);

// What rules have in common.
/// Seconds of the longest computing of a step that would go if all ranks were as fast, and read as
/// many edges, as they do on average.
[[nodiscard]] double uneven_compute(const ExplainedRun& run);
/// A share of time from which on something is worth a word.
inline constexpr double worth_a_word = 0.1;
/// What of the rows a buffer saves where none was tried: about half (docs/explain.md).
inline constexpr double buffer_saves = 0.5;

/// How sure a rule can be of a run of so many steps, whose evidence is `direct` or an estimate.
[[nodiscard]] Confidence confidence_in(const ExplainedRun& run, bool direct);
/// A part of a step: "seconds.wait_rows 12.31 ms of a step, 61 %".
[[nodiscard]] Evidence step_evidence(const ExplainedRun& run, std::string_view key, double seconds);
/// A count or setting, as it stands in a file.
[[nodiscard]] Evidence plain_evidence(std::string metric, double value, std::string file);
/// The share of the run that a step's saving is: steps are not all of a run.
[[nodiscard]] double gain_of_step(const ExplainedRun& run, double seconds);
/// Its gain, where a step would take `left` seconds, but no less than the wire and the cores need;
/// where the cores do, that is evidence, too.
void set_gain(const ExplainedRun& run, Finding& finding, double left);

}  // namespace rudder::report
