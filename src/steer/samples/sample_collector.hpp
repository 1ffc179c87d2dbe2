// Samples for classifiers: decisions by chance about replacing, each tried both ways.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rudder/buffer/replay.hpp"

#include "collector.hpp"

namespace rudder::steer {

/// Decides by chance, with a probability that changes from stretch to stretch, so that buffers
/// which replace rarely and such that replace often both occur. Keyed by seed, host and step.
[[nodiscard]] bool decided_by_chance(std::uint64_t seed, std::uint64_t host, std::uint64_t step);

/// Refuses (usage Error) a policy that takes no decisions, or has a signal of its own.
void check_collectable(const buffer::PolicySpec& policy);

/// Decides by chance when to replace, and labels each decision by trying both answers. For each
/// labelled step two copies of the buffer, all ids of it, take the steps of the horizon as they
/// come: one replaces now, the other does not, then both follow the built-in rule. The label is 1
/// if and only if the first fetched fewer rows. Steps whose horizon does not end before the run
/// does have none and are left out.
class SampleCollector final : public Collector {
public:
    /// Nothing is judged on the sample: labels are exact.
    SampleCollector(HelmOptions helm, const CollectOptions& options);
    ~SampleCollector() override;

    /// The samples so far, in the order of steps, of one policy and a graph without a name. The
    /// published label is not among them: it needs all samples of a table.
    [[nodiscard]] SampleTable take_samples() override;

private:
    void tell(std::uint64_t step, std::span<const buffer::RowKey> rows) override;
    void try_step(const StepView& now) override;
    void taken(std::span<const buffer::RowKey> rows, const Rows& accounts) override;

    struct State;
    std::unique_ptr<State> state_;
};

/// Runs a policy without its own signal over all hosts, side by side, each with a collector. A
/// usage Error where the policy takes no decisions.
[[nodiscard]] SampleTable collect(const buffer::Trace& trace, const std::string& graph,
                                  const buffer::PolicySpec& policy, const buffer::BufferSize& size,
                                  const CollectOptions& options);

}  // namespace rudder::steer
