// A collector: steers a buffer by chance, and tries on copies of it what else could be done.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rudder/buffer/pilot.hpp"
#include "rudder/steer/steering_options.hpp"
#include "steer/helm/helm.hpp"

#include "prompt_line.hpp"
#include "sample_table.hpp"

namespace rudder::steer {

/// What all kinds have in common, of one buffer, live or in replay: the helm that an agent by
/// chance steers through, the steps that are coming, and which of them are drawn.
class Collector : public buffer::BufferPilot {
public:
    ~Collector() override;

    void start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) override;
    [[nodiscard]] std::uint64_t horizon() const override { return helm_->horizon(); }
    void published(std::uint64_t step, std::span<const buffer::RowKey> rows) override;
    void prepare(std::uint64_t step) override { helm_->prepare(step); }
    buffer::PilotOrder before(std::uint64_t step, const buffer::IdBuffer& buffer) override;
    void after(std::uint64_t step, const Rows& accounts) override;
    [[nodiscard]] std::optional<buffer::GuardTerms> guard_terms() const override {
        return helm_->guard_terms();
    }
    void overruled(std::uint64_t step, const buffer::Overruled& what) override {
        helm_->overruled(step, what);
    }
    void limited(std::uint64_t step, buffer::SlotId most) override { helm_->limited(step, most); }
    void accounted(const buffer::GuardAccount& account) override { helm_->accounted(account); }

    /// What makes the observations; for the times of a live run.
    [[nodiscard]] Helm& helm() noexcept { return *helm_; }
    /// How long a step took, after the helm was told; from the training task.
    virtual void timed(std::uint64_t /*step*/, const Seconds& /*seconds*/) {}

    /// What was collected since it was asked last; nothing where another kind is.
    [[nodiscard]] virtual SampleTable take_samples() { return {}; }
    /// In the order of steps. `all`, after the last step: also those that wait for times.
    [[nodiscard]] virtual std::vector<PromptLine> take_prompts(bool /*all*/) { return {}; }

protected:
    /// A step that is about to be taken, of the buffer as the step before has left it.
    struct StepView {
        std::uint64_t step;
        const buffer::IdBuffer& buffer;
        std::span<const buffer::RowKey> rows;
        const buffer::PilotOrder& order;  ///< what the real buffer will do
    };

    Collector(const CollectOptions& options, std::uint32_t host) : options_(options), host_(host) {}
    /// Whose agent is made at once: to be called when all that it uses is there.
    void steer_by(HelmOptions helm) { helm_.emplace(std::move(helm)); }

    /// Drawn, one in `stride`: steps at a fixed distance would always meet the built-in rule alike.
    [[nodiscard]] bool drawn(std::uint64_t step) const;

    /// The rows of a coming step, for the copies there are.
    virtual void tell(std::uint64_t step, std::span<const buffer::RowKey> rows) = 0;
    /// The copies there are take the step; others may be made.
    virtual void try_step(const StepView& now) = 0;
    /// The real buffer took it.
    virtual void taken(std::span<const buffer::RowKey> /*rows*/, const Rows& /*accounts*/) {}

    CollectOptions options_;
    std::uint32_t host_;

private:
    std::optional<Helm> helm_;
    std::deque<std::span<const buffer::RowKey>> coming_;  ///< steps next, next + 1, ...
    std::uint64_t published_ = 0;                         ///< the step after the last of them
};

/// The kind that the options name. `helm` says what it would of an agent's buffer; who decides and
/// how it is asked are set here. A usage Error where its policy leaves nothing to collect.
[[nodiscard]] std::unique_ptr<Collector> make_collector(HelmOptions helm,
                                                        const CollectOptions& options);

}  // namespace rudder::steer
