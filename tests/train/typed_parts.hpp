// Partitions of generated graphs of several types.
#pragma once

#include "graph/generate/generate.hpp"
#include "partition/partition.hpp"
#include "rudder/partition/partitioned_dataset.hpp"

namespace rudder::test {

/// Four parts of a graph of so many vertices with four planted classes.
inline partition::PartitionedDataset make_typed_parts(const std::filesystem::path& folder,
                                                      VertexId vertices) {
    graph::GenerateOptions options;
    options.kind = "typed";
    options.output = folder / "data";
    options.generator.vertices = vertices;
    options.generator.classes = 4;
    options.generator.degree = 6;
    options.features = "planted:12";
    graph::generate_dataset(options, Progress::none());
    partition::PartitionOptions parts;
    parts.parts = 4;
    parts.method = "ldg";
    partition::partition_dataset(graph::Dataset(folder / "data"), folder / "parts", parts,
                                 Existing::refuse);
    return partition::PartitionedDataset(folder / "parts");
}

}  // namespace rudder::test
