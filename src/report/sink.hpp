// Where the numbers of a run go: what sinks are given, and what a sink is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue.hpp"

namespace rudder::report {

/// The policy of a step, in words.
struct PolicyWords {
    std::string text;   ///< empty: there is no buffer
    std::string knobs;  ///< its further knobs as JSON members, such as "decay":0.9,"distance":2
    bool known = true;  ///< false: the text was cut, so that no more than it is known
};

/// One step of one rank.
struct StepFrame {
    std::uint64_t step = 0;
    std::uint32_t epoch = 0;
    std::uint32_t rank = 0;
    std::uint32_t policy = 0;  ///< its place in the batch's policies
    std::array<double, metric_count> values{};
};

/// Steps that are handed over together, in the order of step and rank.
struct StepBatch {
    std::vector<StepFrame> steps;
    std::vector<std::uint64_t> bytes_by_owner;  ///< `owners` numbers per step, in the same order
    std::size_t owners = 0;
    std::vector<PolicyWords> policies;

    /// The bytes of feature rows of the step at `index`, by the rank they came from.
    [[nodiscard]] std::span<const std::uint64_t> owners_of(std::size_t index) const {
        return std::span(bytes_by_owner).subspan(index * owners, owners);
    }
};

/// What an epoch came to.
struct EpochFrame {
    std::uint32_t epoch = 0;
    std::uint64_t steps = 0;  ///< of this epoch
    double loss = 0;          ///< mean of its steps
    double seconds = 0;
    double evaluation_seconds = 0;
    // Shares of right answers, as far as there are any.
    std::optional<double> train;
    std::optional<double> valid;
    std::optional<double> test;
};

/// One decision of an agent: a line of decisions.jsonl, without its end.
struct DecisionFrame {
    std::uint64_t step = 0;
    std::uint32_t rank = 0;
    std::string line;
};

/// One place that the numbers of a run go to. Called by one task at a time. What it throws closes
/// it for good; the run goes on.
class MetricSink {
public:
    virtual ~MetricSink() = default;
    /// As people know it, such as "metrics.jsonl".
    [[nodiscard]] virtual std::string_view name() const = 0;
    virtual void steps(const StepBatch& batch) = 0;
    virtual void epoch(const EpochFrame& /*epoch*/) {}
    virtual void decisions(std::span<const DecisionFrame> /*decisions*/) {}
    /// The run has ended: all of it is to be where it belongs.
    virtual void close() {}
    /// CPU time that it took on threads of its own, in nanoseconds.
    [[nodiscard]] virtual std::uint64_t cpu_nanoseconds() const { return 0; }
};

}  // namespace rudder::report
