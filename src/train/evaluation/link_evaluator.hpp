// Evaluation of pairs: exact rows of all vertices, and the ranks of links among other pairs, or
// what edges with targets score.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
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
/// messages along training links alone give; or scores edges by the rows that messages along all
/// edges give, where the network answers for what edges carry. No bit depends on ranks, threads or
/// memory.
class LinkEvaluator {
public:
    struct Options {
        ExactEvaluator::Options exact;  ///< its messages are the links'; its reading is of edges
        RankingOptions ranking;
        const sample::GivenNegatives* given = nullptr;  ///< that links are ranked among
        bool symmetric = false;  ///< a link stands in the rows of both its vertices
        std::optional<sample::LinkTypes> types{};        ///< of links, in a graph of several
        const sample::VertexStretches* among = nullptr;  ///< what targets may be
    };

    /// Collective. What is given must outlive it.
    LinkEvaluator(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                  std::span<const partition::Part> own, const sample::OwnLinks& links,
                  const store::FeatureStore& store, const Options& options);
    /// Waits for an evaluation that was started, and drops its result.
    ~LinkEvaluator();
    LinkEvaluator(const LinkEvaluator&) = delete;
    LinkEvaluator& operator=(const LinkEvaluator&) = delete;

    /// Collective: the scores over all ranks. Of links `scores.train` is left alone.
    void evaluate(nn::Network& network, Scores& scores);
    /// Collective: the same on a copy of the weights, in a task of its own; ends with `finish`.
    void start(std::span<const float> weights);
    [[nodiscard]] Scores finish();
    /// Edges with targets for training, validation and test in the last evaluation, over all ranks;
    /// and those of a label that the network does not know.
    [[nodiscard]] std::array<std::uint64_t, 3> scored() const noexcept;
    [[nodiscard]] std::uint64_t unknown() const noexcept;
    /// The most memory it has planned to use on this rank.
    [[nodiscard]] std::uint64_t planned_bytes() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
    Task task_;
};

}  // namespace rudder::train
