// Evaluation beside training: the weights at the end of an epoch, and what they score.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "train/evaluation/evaluator.hpp"
#include "train/evaluation/exact_evaluator.hpp"
#include "train/evaluation/link_evaluator.hpp"
#include "train/learner.hpp"

namespace rudder::train {

/// How links are ranked in a run with these options.
[[nodiscard]] RankingOptions ranking_of(const TrainOptions& options) noexcept;

/// One evaluation at a time, exact or sampled as the options say, or of links. All of it is
/// collective.
class Evaluation {
public:
    Evaluation(const Ground& ground, Learner& learner);

    /// Evaluates a copy of these weights.
    void start(std::span<const float> weights);
    [[nodiscard]] bool pending() const noexcept { return pending_; }
    /// The weights under evaluation.
    [[nodiscard]] std::span<const float> weights() const noexcept { return weights_; }
    /// What they score; waits.
    [[nodiscard]] Scores finish();
    /// Bytes it takes beside training.
    [[nodiscard]] std::uint64_t planned_bytes() const noexcept;

private:
    nn::NetworkOptions network_options_;
    std::unique_ptr<sample::TypedSampling> all_types_;  ///< for sampling of all neighbours
    std::unique_ptr<SampledEvaluator> sampled_;         ///< one of the three, or none
    std::unique_ptr<ExactEvaluator> exact_;
    std::unique_ptr<LinkEvaluator> links_;
    bool pending_ = false;
    std::vector<float> weights_;
    std::unique_ptr<nn::Network> network_;  ///< with them, where evaluation is sampled
    Scores scores_;                         ///< of them, likewise
};

}  // namespace rudder::train
