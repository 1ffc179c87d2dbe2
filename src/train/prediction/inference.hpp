// Inference with a trained network over a whole partitioned data set, on every rank.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/staging.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/records.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/evaluation/exact_evaluator.hpp"

#include "data_match.hpp"

namespace rudder::train {

/// A saved network with its weights, for sparse rows where there are such. Weights that are not so
/// many are an input Error.
[[nodiscard]] std::unique_ptr<nn::Network> network_of(
    const SavedNetwork& saved, const std::optional<nn::SparseInputs>& sparse);

/// Collective: all ranks take the weights of rank 0. While a run goes on, ranks that load its
/// network one after the other may find different ones.
void share_network(const comm::Communicator& comm, SavedNetwork& saved);

struct InferenceOptions {
    std::uint64_t memory = 0;  ///< bytes a host may use for it; 0: half of what it has
    bool verify = true;        ///< the checksums of the parts first
    DataMatch match{};         ///< of network and data set
};

/// What an inference came to; the same on all ranks but for the last two.
struct InferenceResult {
    Scores scores;
    /// Labelled vertices (or edges) for training, validation, test.
    std::array<std::uint64_t, 3> scored{};
    std::uint64_t unknown = 0;        ///< vertices with a label that the network does not know
    VertexId written = 0;             ///< vertices whose answers write_predictions wrote
    double seconds = 0;               ///< of the layers alone, on this rank
    std::uint64_t planned_bytes = 0;  ///< of rows and chunks, on this rank
};

/// Collective: exact scores of all vertices. The sink gets the rows of this rank's own vertices. Of
/// a network that was trained on links, the ranks of those that it was not trained on; of one that
/// was trained on edges, what these score; and of both no rows.
InferenceResult run_inference(const comm::Communicator& comm,
                              const partition::PartitionedDataset& data, const SavedNetwork& saved,
                              const InferenceOptions& options, const InferenceSink& sink = {});

struct PredictionOptions {
    InferenceOptions inference;
    std::filesystem::path output;
    Existing existing = Existing::refuse;
    std::string type{};  ///< of vertices, in a graph of several; empty: the one that has labels
    bool embeddings = false;  ///< also the last hidden layer
};

/// Collective: the same; rank 0 writes all vertices (of several types those of one) in original
/// order, by the name's ending as NPZ
/// (`id`, `class` or `labels`, `scores`, `embedding`, `classes`), CSV or Parquet. Rows wait in a
/// file beside the output, so that they need not fit its memory. The output appears whole or not at
/// all. Embeddings of a network of one layer are a usage Error.
InferenceResult write_predictions(const comm::Communicator& comm,
                                  const partition::PartitionedDataset& data,
                                  const SavedNetwork& saved, const PredictionOptions& options);

/// Collective: what a network that was trained on edges says of all edges, by messages along all of
/// them. Rank 0 writes, by the name's ending as NPZ, CSV or Parquet, `source`, `target` (the user's
/// ids) and the answers as of vertices, in the order of `rudder export --table edges`: of a
/// symmetric graph each edge once. Embeddings are not written.
InferenceResult write_edge_predictions(const comm::Communicator& comm,
                                       const partition::PartitionedDataset& data,
                                       const SavedNetwork& saved, const PredictionOptions& options);

struct LinkPredictionOptions {
    InferenceOptions inference;
    std::filesystem::path output;
    Existing existing = Existing::refuse;
    std::uint32_t top = 10;  ///< targets for each vertex
};

/// Collective: for each vertex the targets that score highest with it, of all vertices that it has
/// no link to, by messages along all edges. Rank 0 writes, by the name's ending as NPZ, CSV or
/// Parquet, `source`, `target` (the user's ids) and `score`: vertices in original order, of each
/// the highest first, of equals the one whose row comes first. The output appears whole or not at
/// all.
InferenceResult write_link_predictions(const comm::Communicator& comm,
                                       const partition::PartitionedDataset& data,
                                       const SavedNetwork& saved,
                                       const LinkPredictionOptions& options);

}  // namespace rudder::train
