// The rows that a network gives this rank's vertices, by which pairs of them are scored.
#pragma once

#include <span>

#include "rudder/core/array.hpp"
#include "store/feature_store.hpp"
#include "train/ground.hpp"

#include "inference.hpp"

namespace rudder::train {

/// The rows of a store as a saved network reads those of this data set.
[[nodiscard]] store::StoreOptions store_options(const SavedNetwork& saved,
                                                const partition::PartitionedDataset& data,
                                                const DataMatch& match);

/// Collective: what the last layer gives own vertices, one after the other, by messages along all
/// edges. Sets the plan's bytes of `result`.
[[nodiscard]] Array<float> last_rows(const comm::Communicator& comm,
                                     const partition::PartitionedDataset& data,
                                     const SavedNetwork& saved,
                                     std::span<const partition::Part> parts, nn::Network& network,
                                     const store::FeatureStore& store,
                                     const InferenceOptions& options, InferenceResult& result);

}  // namespace rudder::train
