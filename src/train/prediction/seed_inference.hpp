// Inference seed by seed, each from its own past: where edges have times.
#pragma once

#include <span>

#include "rudder/comm/communicator.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/train/options.hpp"
#include "sample/neighbour_source.hpp"
#include "sample/sampler.hpp"
#include "store/feature_store.hpp"
#include "train/evaluation/exact_evaluator.hpp"
#include "train/evaluation/exact_scores.hpp"

namespace rudder::train {

/// What it runs on; all of it outlives it.
struct SeedInferenceGround {
    const comm::Communicator& comm;
    std::span<const partition::Part> parts;  ///< of this rank
    const sample::NeighbourSource& source;
    const store::FeatureStore& store;
    const TrainOptions& train;
    const nn::NetworkOptions& network;
    const TargetReading& reading;        ///< of another data set than the network was trained on
    graph::FeatureInfo edge_features{};  ///< that the network reads
    const sample::TypedSampling* types = nullptr;  ///< all neighbours, of a graph of several types
};

/// Collective: the answers on all vertices of the parts, over all edges before each one's time; one
/// without a time has no past. The sink gets no hidden rows. The scores of all ranks' parts, added
/// in the order of the parts.
PartScores infer_by_seed(const SeedInferenceGround& ground, nn::Network& network,
                         const InferenceSink& sink);

}  // namespace rudder::train
