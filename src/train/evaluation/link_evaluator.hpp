// Evaluation of links: exact rows of all vertices, and the ranks of links among other pairs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/executor/executor.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/records.hpp"
#include "sample/links.hpp"
#include "store/feature_store.hpp"

#include "exact_evaluator.hpp"
#include "link_ranker.hpp"

namespace rudder::train {

/// Ranks the links for validation and test, each on the rank that owns its source, by the rows that
/// messages along training links alone give. No bit depends on ranks, threads or memory.
class LinkEvaluator {
public:
    struct Options {
        ExactEvaluator::Options exact;  ///< its messages are the links'
        RankingOptions ranking;
    };

    /// Collective. What is given must outlive it.
    LinkEvaluator(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                  std::span<const partition::Part> own, const sample::OwnLinks& links,
                  const store::FeatureStore& store, const Options& options);
    /// Waits for an evaluation that was started, and drops its result.
    ~LinkEvaluator();
    LinkEvaluator(const LinkEvaluator&) = delete;
    LinkEvaluator& operator=(const LinkEvaluator&) = delete;

    /// Collective: the scores over all ranks. `scores.train` is left alone.
    void evaluate(nn::Network& network, Scores& scores);
    /// Collective: the same on a copy of the weights, in a task of its own; ends with `finish`.
    void start(std::span<const float> weights);
    [[nodiscard]] Scores finish();
    /// The most memory it has planned to use on this rank.
    [[nodiscard]] std::uint64_t planned_bytes() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
    Task task_;
};

}  // namespace rudder::train
