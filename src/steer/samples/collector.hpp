// The collector: steers a buffer by chance and labels each decision by trying both answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rudder/buffer/pilot.hpp"
#include "rudder/buffer/replay.hpp"
#include "rudder/steer/steering_options.hpp"
#include "steer/helm/helm.hpp"

#include "sample_table.hpp"

namespace rudder::steer {

/// Decides by chance, with a probability that changes from stretch to stretch, so that buffers
/// which replace rarely and such that replace often both occur. Keyed by seed, host and step.
[[nodiscard]] bool decided_by_chance(std::uint64_t seed, std::uint64_t host, std::uint64_t step);

/// Refuses (usage Error) a policy that takes no decisions, or has a signal of its own.
void check_collectable(const buffer::PolicySpec& policy);

/// Of one buffer, live or in replay. For each labelled step two copies of the buffer, all ids of
/// it, take the steps of the horizon as they come: one replaces now, the other does not, then both
/// follow the built-in rule. The label is 1 if and only if the first fetched fewer rows. Steps
/// whose horizon does not end before the run does have none and are left out.
class Collector final : public buffer::BufferPilot {
public:
    /// `helm` says what it would of an agent's buffer; who decides, how it is asked and how much is
    /// judged are set here.
    Collector(HelmOptions helm, const CollectOptions& options);
    ~Collector() override;

    void start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) override;
    [[nodiscard]] std::uint64_t horizon() const override;
    void published(std::uint64_t step, std::span<const buffer::RowKey> rows) override;
    void prepare(std::uint64_t step) override;
    buffer::PilotOrder before(std::uint64_t step, const buffer::IdBuffer& buffer) override;
    void after(std::uint64_t step, const Rows& accounts) override;
    void limited(std::uint64_t step, buffer::SlotId most) override;

    /// What makes the observations; for the times of a live run.
    [[nodiscard]] Helm& helm() noexcept;
    /// The samples so far, in the order of steps, of one policy and a graph without a name. The
    /// published label is not among them: it needs all samples of a table.
    [[nodiscard]] SampleTable take();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Runs a policy without its own signal over all hosts, side by side, each with a collector. A
/// usage Error where the policy takes no decisions.
[[nodiscard]] SampleTable collect(const buffer::Trace& trace, const std::string& graph,
                                  const buffer::PolicySpec& policy, const buffer::BufferSize& size,
                                  const CollectOptions& options);

}  // namespace rudder::steer
