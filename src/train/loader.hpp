// The engine without a network: steps come out with their rows, for whoever computes on them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "rudder/comm/communicator.hpp"
#include "rudder/graph/split.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/observer.hpp"
#include "rudder/train/options.hpp"
#include "rudder/train/records.hpp"
#include "rudder/train/result.hpp"

#include "loaded_step.hpp"

namespace rudder::train {

struct LoaderOptions {
    /// Of these, what is about sampling, rows, buffers and agents counts. `epochs` are the most
    /// that may be taken; look-ahead goes on to their end.
    TrainOptions train;
    graph::Role role = graph::Role::train;  ///< of the vertices, or links, that become seeds
    bool shuffled = true;                   ///< in each epoch anew; of vertices alone
    /// Edges come with their numbers in the graph. A usage Error on a host that does not hold the
    /// whole topology in ascending order, and of links.
    bool edge_numbers = false;
    /// Told of records, decisions and epochs on rank 0, as of a run; null: nobody is. All ranks
    /// give one or none does; with it they wait for each other in every step. It must outlive the
    /// loader.
    TrainObserver* observer = nullptr;
};

/// What one rank has done so far.
struct LoaderStats {
    std::uint64_t steps = 0;
    Rows rows;
    std::uint64_t row_bytes = 0;  ///< of one row on the wire
    comm::Bytes bytes;            ///< received
    Seconds seconds;
    std::uint64_t edges = 0;
    /// As the buffer is set now; none where every row is pulled, or another rank has the buffer.
    std::optional<buffer::Knobs> knobs{};
    std::uint64_t buffer_bytes = 0;  ///< of the rows that it has room for
    double policy_seconds = 0;
    /// The fewest rows possible, with TrainOptions::floor; known once the loader is closed.
    std::optional<std::uint64_t> floor{};
};

/// One rank of it. Batches and rows are those that a Trainer with the same options computes on, and
/// the same rows are fetched for them.
///
/// Construction and `close` are collective. Where an agent steers or ranks share a buffer, they
/// wait for each other in every step: what agents learn of other ranks travels then (a Trainer
/// sends it with the gradients), and a shared buffer takes the step of all its ranks. A rank that
/// closes before others goes on with their steps, or answers their questions, until they do. Calls
/// come from one task at a time.
class Loader {
public:
    /// `data` must outlive it.
    Loader(const comm::Communicator& comm, const partition::PartitionedDataset& data,
           const LoaderOptions& options);
    /// Ends its tasks without asking the other ranks.
    ~Loader();
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;

    [[nodiscard]] std::uint64_t steps_per_epoch() const noexcept;
    /// Global number of the step that comes next.
    [[nodiscard]] std::uint64_t step() const noexcept;
    /// Seeds of all parts in that step.
    [[nodiscard]] std::uint64_t seed_count() const noexcept;
    /// The next step, across the ends of epochs; the one before has been computed. Waits for it.
    /// Null after the last epoch.
    [[nodiscard]] std::shared_ptr<LoadedStep> next();
    /// The loss on an own part of the step handed out last, for whoever watches: a step's is the
    /// mean over all parts.
    void note_loss(std::size_t part, float loss);
    /// The step handed out last has been computed; what comes before the next one is not its time.
    void pause();
    /// What is left of an epoch that has begun is not wanted: nothing more of it is drawn, nor
    /// fetched but what was drawn ahead by now. Never waits; other ranks may go on with it.
    /// `next` still gives its steps, which have no seeds where they were not drawn.
    void leave_epoch();
    /// Leaves the epoch, and passes over what is left of it.
    void skip_epoch();

    [[nodiscard]] LoaderStats stats() const;
    /// What a loader with an observer came to, once it is closed; complete on rank 0.
    [[nodiscard]] const TrainResult& result() const;
    /// Which policy it began with.
    [[nodiscard]] const buffer::PolicySpec& policy() const noexcept;
    /// Ends it with all ranks: nothing can be taken any more, and all rows that were fetched are
    /// counted.
    void close();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::train
