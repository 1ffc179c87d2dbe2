// Decisions for language models: prompts as a model is sent them, and the price of every reply.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "rudder/buffer/replay.hpp"

#include "collector.hpp"

namespace rudder::steer {

/// Refuses (usage Error) a policy that no language model could steer: one without a buffer, with a
/// signal of its own, or that needs a recorded trace.
void check_promptable(const buffer::PolicySpec& policy);

/// Asks as a language model is asked, and answers by chance. For each question that is drawn, every
/// action of the list is tried on a copy of the buffer, all ids of it, which takes the steps of the
/// horizon as they come; nothing else is decided in them, but policies that wait to be told are
/// told to replace when the built-in rule does. The horizon ends with the run. Steps before which
/// something else changed than was answered are left out.
class PromptCollector final : public Collector {
public:
    /// With a sink, lines go there as soon as they are complete.
    PromptCollector(HelmOptions helm, const CollectOptions& options,
                    std::function<void(const PromptLine&)> sink = {});
    ~PromptCollector() override;

    void start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) override;
    /// Any window that may be tried.
    [[nodiscard]] std::uint64_t horizon() const override;
    void timed(std::uint64_t step, const Seconds& seconds) override;
    [[nodiscard]] std::vector<PromptLine> take_prompts(bool all) override;

private:
    void tell(std::uint64_t step, std::span<const buffer::RowKey> rows) override;
    void try_step(const StepView& now) override;

    struct State;
    std::unique_ptr<State> state_;
};

/// Takes the lines of a host, those of one host in the order of steps; hosts side by side.
using PromptSink = std::function<void(std::size_t host, const PromptLine& line)>;

/// Runs a policy over all hosts, side by side, each with such a collector.
void collect_prompts(const buffer::Trace& trace, const buffer::PolicySpec& policy,
                     const buffer::BufferSize& size, const CollectOptions& options,
                     const PromptSink& sink);

}  // namespace rudder::steer
