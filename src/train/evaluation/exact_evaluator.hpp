// Exact evaluation: every layer over all neighbours of all vertices, in bounded memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/executor/executor.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/records.hpp"
#include "sample/message_rows.hpp"
#include "store/feature_store.hpp"

#include "exact_scores.hpp"

namespace rudder::train {

/// What the last layer gave for own vertices [first, first + count) of a part.
struct InferredRows {
    const partition::Part& part;
    LocalId first = 0;
    std::size_t count = 0;
    /// count x outputs, before softmax or sigmoid; of networks that score pairs: the rows they
    /// are scored by
    std::span<const float> scores;
    std::span<const float> hidden;  ///< count x columns of the last hidden layer; one layer: none
};
/// Takes them on the rank that owns them: part by part, in ascending order, each vertex once. It
/// may wait. The spans end with the call.
using InferenceSink = std::function<void(const InferredRows&)>;

/// Infers layer by layer: each rank computes the rows of its own vertices from those of all their
/// neighbours, chunk by chunk; rows of other ranks come by message, in kind `evaluation`.
///
/// The bits depend on the weights and the parts alone: neither ranks, threads, topology nor memory
/// show, since a row is computed from the rows it reads alone, in the order of its neighbours.
///
/// Memory of a rank: the rows of its own vertices of one layer and of the next, what is read of the
/// present one's where that has fewer columns (nn::Network::map_rows), and a chunk. Where there is
/// room a chunk is a whole part with all rows that it reads, each brought here once; else it is
/// some groups of 256 vertices with theirs, one or two at a time, and where there is room for the
/// rows of other ranks these are fetched once instead of once per chunk.
class ExactEvaluator {
public:
    struct Options {
        nn::NetworkOptions network;
        std::uint64_t memory = 0;  ///< bytes this rank may use; 0: its share of half the host's
        bool degrees = false;      ///< of a block's sources; found out if left alone
        bool again = false;     ///< more than one evaluation: what they share is kept where it fits
        bool weighted = false;  ///< means are weighted by what edges carry
        TargetReading reading{};  ///< of another data set than the network was trained on
        /// What vertices read, by own part, instead of the parts' rows; empty: those. Must outlive
        /// it.
        std::span<const sample::MessageRows> messages{};
    };

    /// Collective: all ranks make theirs in the same order. What is given must outlive it. Memory
    /// that is too small is a usage Error that says what is needed.
    ExactEvaluator(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                   std::span<const partition::Part> own, const store::FeatureStore& store,
                   Options options);
    /// Waits for an evaluation that was started, and drops its result.
    ~ExactEvaluator();
    ExactEvaluator(const ExactEvaluator&) = delete;
    ExactEvaluator& operator=(const ExactEvaluator&) = delete;

    /// Collective: scores all labelled vertices that have a role, over all ranks (of networks that
    /// score pairs, none). The sums have the
    /// same bits however the parts are spread. One at a time, but beside other collectives: it has
    /// a communicator of its own.
    void evaluate(nn::Network& network, Scores& scores, const InferenceSink& sink = {});

    /// Collective: the same on a copy of the weights, in a task of its own; ends with `finish`.
    void start(std::span<const float> weights);
    /// Waits for what was started, and rethrows what it threw.
    [[nodiscard]] Scores finish();
    [[nodiscard]] bool started() const noexcept { return task_.valid(); }

    /// Labelled vertices of all ranks that are for training, validation, test: what the losses are
    /// sums over. Known after an evaluation.
    [[nodiscard]] std::array<std::uint64_t, 3> scored() const noexcept;
    /// Likewise those that have a role and a label that the network does not know.
    [[nodiscard]] std::uint64_t unknown() const noexcept;
    /// The least memory it could do with on this rank, and the most it has planned to use.
    [[nodiscard]] std::uint64_t least_bytes() const noexcept;
    [[nodiscard]] std::uint64_t planned_bytes() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
    Task task_;
};

}  // namespace rudder::train
