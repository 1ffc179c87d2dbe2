// A table of pairs that are not joined, read and dealt out to the owners of their sources.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "rudder/comm/communicator.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "sample/given_pairs.hpp"
#include "sample/links.hpp"

namespace rudder::train {

/// Collective: the pairs of a CSV or Parquet file with the columns `source` and `target`, in the
/// user's ids, and perhaps `split` (train, valid, test; nothing: for all), which rank 0 reads. Of a
/// symmetric graph a pair is one of both of its vertices. An unknown id, a missing one, a vertex
/// with itself and a table without a pair are input Errors that say where.
[[nodiscard]] sample::GivenNegatives read_given_negatives(const comm::Communicator& comm,
                                                          const partition::PartitionedDataset& data,
                                                          std::span<const partition::Part> own,
                                                          const std::filesystem::path& file);

/// Collective: how many of some links, over all ranks, have a source that no pair is given for.
[[nodiscard]] std::uint64_t links_without(const comm::Communicator& comm,
                                          std::span<const partition::Part> own,
                                          std::span<const sample::PartLinks> links,
                                          const sample::GivenNegatives& given, graph::Role role);

}  // namespace rudder::train
