// The folder of a partition of DGL becomes a data set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "rudder/core/progress.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/provenance.hpp"
#include "rudder/graph/split.hpp"

namespace rudder::graph {

struct DglImportOptions {
    std::filesystem::path input{};  ///< the .json file of dgl.distributed.partition_graph
    std::filesystem::path output{};
    std::string features{};  ///< name of a tensor; empty: feat, features or x
    std::string labels{};    ///< the same: label, labels or y
    bool undirected = false;
    SplitRule split = SplitFractions{};  ///< where there are no masks
    std::uint64_t seed = 0;
    bool force = false;
    Provenance provenance{};
};

/// Edges are stored as they are, without self loops. Vertices have the ids of the graph before it
/// was partitioned where DGL has kept them (orig_id), else those of the partition. A graph with
/// several types of vertices or edges is an input Error.
DatasetInfo import_dgl(const DglImportOptions& options, Progress& progress = Progress::none());

}  // namespace rudder::graph
