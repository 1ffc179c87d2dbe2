// Steers the buffers of a run: who has an agent, who follows whom, and how orders travel.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/train/records.hpp"
#include "rudder/train/result.hpp"
#include "steer/helm/helm.hpp"
#include "steer/samples/collector.hpp"
#include "train/ground.hpp"

#include "buffer_setup.hpp"
#include "clock_turns.hpp"
#include "order_board.hpp"
#include "pipeline.hpp"

namespace rudder::train {

/// One rank's side of it. The first rank of each buffer has a helm, with an agent of its own or
/// without one: then it follows orders, which travel with the gradients (scope job) or through the
/// host's memory (private buffers under one agent). All ranks of a run have one, or none has.
class Steering {
public:
    /// Collective. Null where nobody steers. `most_groups` of gradients: the same on all ranks.
    [[nodiscard]] static std::unique_ptr<Steering> make(const Ground& ground,
                                                        const BufferSetup& setup,
                                                        std::uint64_t most_groups);
    /// How many floats travel with the gradients of a step.
    [[nodiscard]] static std::size_t extra_floats(const TrainOptions& options, int ranks);

    /// How many tasks may ever sample.
    [[nodiscard]] static int most_sample_tasks(const TrainOptions& options);

    /// Who steers this rank's buffer; null on ranks that are not its first.
    [[nodiscard]] buffer::BufferPilot* pilot() noexcept {
        return collector_ ? static_cast<buffer::BufferPilot*>(collector_.get()) : helm_;
    }
    /// What the pilot has ordered before a step that is handed out, and the pipeline has done: it
    /// goes to the other ranks that share the buffer.
    void share_times(const buffer::TimeKnobs& times);

    /// Before a step's gradients are summed: what goes along.
    void send(std::uint64_t step, const Rows& rows, std::span<float> extra);
    /// After it, and before the step's place is free for another: what came.
    void receive(std::uint64_t step, std::span<const float> sum, Pipeline& pipeline);
    void step_done(const StepRecord& record);
    /// In how many groups gradients are reduced from this step on, as GradientExchange::divide; the
    /// same on all ranks. Asked in the order of steps.
    [[nodiscard]] std::uint64_t groups(std::uint64_t step);

    /// Collective: decisions of all ranks that are complete, on rank 0, by step and rank.
    [[nodiscard]] std::vector<steer::DecisionRecord> gather(bool all);
    /// Collective: what agents have decided so far, on rank 0.
    struct Standing {
        steer::HelmTotals totals;
        std::vector<steer::DecisionRecord> open;  ///< those whose outcome is not known yet
    };
    [[nodiscard]] Standing standing();
    /// Collective, after the last step: ends the agents. What steering came to, on rank 0.
    [[nodiscard]] AgentResult finish();
    /// Collective, after that: what was collected, on rank 0.
    [[nodiscard]] steer::SampleTable samples();

private:
    enum class Road : std::uint8_t { none, board, gradients };
    /// Agents that do not know of each other take turns.
    [[nodiscard]] bool takes_turns() const;

    Steering(const Ground& ground, const BufferSetup& setup, std::uint64_t most_groups);
    [[nodiscard]] steer::HelmOptions helm_options(std::uint64_t most_groups);
    void note_groups(const steer::Order& order);
    [[nodiscard]] steer::CostKind cost() const;
    [[nodiscard]] std::string about_run() const;
    void take_order(const steer::Order& order, Pipeline& pipeline);

    const Ground& ground_;
    const BufferSetup& setup_;
    bool host_first_ = true;  ///< of the ranks of its host
    bool first_;              ///< of the ranks that share its buffer
    bool leads_ = false;      ///< has an agent
    Road road_ = Road::none;  ///< of orders to or from this rank
    std::optional<OrderBoard> board_;
    std::unique_ptr<steer::Collector> collector_;  ///< where samples are collected
    std::unique_ptr<steer::Helm> own_helm_;        ///< elsewhere
    steer::Helm* helm_ = nullptr;  ///< null on ranks that are not the first of their buffer
    std::optional<steer::AgentSpec> agent_;
    ClockTurns turns_;
    /// Orders about groups of gradients, which every rank reads itself, so that all obey them at
    /// the same step whatever their buffers make of the rest.
    struct Division {
        std::uint64_t step;
        std::uint64_t groups;
    };
    std::deque<Division> divisions_;  ///< to come
    std::uint64_t groups_ = 0;        ///< now
    Seconds last_;                    ///< of the step before
    std::atomic<std::uint64_t> cpu_{0};
};

}  // namespace rudder::train
