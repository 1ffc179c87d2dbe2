// What one rank of a training run stands on: its parts, the schedule, neighbours and rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/message_coder.hpp"
#include "partition/share.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/options.hpp"
#include "sample/link_seeds.hpp"
#include "sample/links.hpp"
#include "sample/neighbour_source.hpp"
#include "sample/sampler.hpp"
#include "sample/schedule.hpp"
#include "sample/seed_times.hpp"
#include "store/feature_store.hpp"
#include "train/types.hpp"

namespace rudder::train {

/// Collective: opens the parts of this rank. Unless all of them is verified, only what keeps
/// training inside its arrays is checked.
[[nodiscard]] std::vector<partition::Part> open_parts(const comm::Communicator& comm,
                                                      const partition::PartitionedDataset& data,
                                                      bool verify);

/// What of the data that edges carry a run with these options draws by.
[[nodiscard]] sample::SourceCarries carries_of(const TrainOptions& options,
                                               const graph::DatasetInfo& info) noexcept;
/// What features of edges networks read: none unless the options ask for them.
[[nodiscard]] graph::FeatureInfo read_edge_features(const TrainOptions& options,
                                                    const graph::DatasetInfo& info) noexcept;
/// Refuses (input Error) a data set without the weights, times or features of edges that the
/// options ask for.
void check_carried(const partition::PartitionedDataset& data, const TrainOptions& options);
/// Collective: the topology where the options want it, with what edges carry; of links, what
/// messages pass along. The parts (and links) must outlive it.
[[nodiscard]] std::unique_ptr<sample::NeighbourSource> make_source(
    const comm::Communicator& comm, const partition::PartitionedDataset& data,
    std::span<const partition::Part> parts, const TrainOptions& options,
    std::shared_ptr<comm::MessageCoder> coder, const sample::OwnLinks* links = nullptr);

/// The links of this rank's parts, or its edges with targets, and how they become seeds.
struct LinkGround {
    sample::OwnLinks divided;
    bool symmetric = false;              ///< one stands in the rows of both its vertices
    std::optional<TypedLinks> types{};   ///< in a graph of several
    sample::VertexStretches targets{0};  ///< what targets may be: all vertices, or those of a type
    sample::DegreeTable degrees{{}};     ///< of all vertices, where targets are drawn by it
    std::optional<sample::GivenNegatives> given{};  ///< where a table of pairs is named
    std::optional<sample::LinkSeeds> seeds{};       ///< once the source is there

    [[nodiscard]] const sample::GivenNegatives* given_pairs() const noexcept {
        return given ? &*given : nullptr;
    }
    /// What messages pass along, by own part.
    [[nodiscard]] std::span<const sample::MessageRows> messages() const noexcept {
        return divided.messages;
    }
    /// Which edges are links, in a graph of several types.
    [[nodiscard]] std::optional<sample::LinkTypes> edge_types() const noexcept {
        return types ? std::optional(types->edges) : std::nullopt;
    }
};
/// Collective: the edges of the data set by role, keyed by edge and the run's seed unless the data
/// set says it, and the pairs that were given; null where vertices are learned.
[[nodiscard]] std::unique_ptr<LinkGround> divide(const comm::Communicator& comm,
                                                 const partition::PartitionedDataset& data,
                                                 std::span<const partition::Part> parts,
                                                 const TrainOptions& options);

/// What the rows and batches are for, where it is not a network of ours that is trained.
struct GroundUse {
    /// As what sparse rows are assembled; none: as the model of the options takes them.
    std::optional<store::AssembledRows> assembled{};
    graph::Role role = graph::Role::train;  ///< of the vertices, or links, that become seeds
    bool shuffled = true;                   ///< in each epoch anew; of vertices alone
};

/// In the order of construction, which is collective; nothing of it changes while a run goes on,
/// but for the connections of source and store.
struct Ground {
    comm::Communicator comm;
    std::uint64_t start_memory;  ///< bytes that this process held before it read any data
    comm::AccountTotals before;  ///< what was sent and received before this trainer
    const partition::PartitionedDataset& data;
    TrainOptions options;
    partition::PartShare share;
    comm::Coders coders;                           ///< of what travels
    std::vector<partition::Part> parts;            ///< of this rank
    sample::SeedTimes times;                       ///< of their vertices, where seeds have times
    std::unique_ptr<LinkGround> links;             ///< null: vertices are learned
    std::unique_ptr<sample::TypedSampling> types;  ///< null: the graph has one type
    sample::Schedule schedule;
    std::unique_ptr<sample::NeighbourSource> source;
    store::FeatureStore store;

    Ground(const comm::Communicator& comm, const partition::PartitionedDataset& data,
           const TrainOptions& options, const GroundUse& use = {});

    /// Of the whole run.
    [[nodiscard]] std::uint64_t steps() const noexcept {
        return schedule.steps_per_epoch() * options.epochs;
    }
    [[nodiscard]] sample::SamplerOptions sampler_options() const;
    /// That the network reads.
    [[nodiscard]] graph::FeatureInfo edge_features() const noexcept {
        return read_edge_features(options, data.info());
    }
    /// Bytes the host may use, which its ranks share.
    [[nodiscard]] std::uint64_t memory() const;
    /// Bytes of batches sampled ahead that may wait on this rank.
    [[nodiscard]] std::uint64_t queue_limit() const;
    /// Collective: ends the services of all ranks; nobody may ask any more.
    void stop();
};

}  // namespace rudder::train
