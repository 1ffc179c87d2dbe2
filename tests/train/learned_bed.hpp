// Graphs whose vertices, or some of them, have no features.
#pragma once

#include <gtest/gtest.h>

#include "graph/dataset_writer.hpp"
#include "graph/generate/generate.hpp"
#include "graph/generate/generator.hpp"
#include "graph/generate/planted.hpp"
#include "partition/partition.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {

/// Papers have features, authors and venues have none.
[[nodiscard]] inline partition::PartitionedDataset make_typed(const std::filesystem::path& folder,
                                                              VertexId vertices) {
    graph::GeneratorOptions options;
    options.vertices = vertices;
    options.classes = 4;
    options.degree = 6;
    const auto generator = graph::make_generator("typed", options);
    graph::DatasetWriter writer(folder / "graph", Existing::replace);
    const graph::BuiltTopology built = graph::generate_topology(*generator, Progress::none());
    writer.types(generator->types());
    writer.topology(built, true);
    writer.type_features(0, graph::PlantedFeatures(generator->classes_of(0), 5, 0.2, 1),
                         std::nullopt, false, Progress::none());
    const graph::TargetInfo info{.kind = graph::TargetKind::classes, .count = options.classes};
    const graph::TargetView view{.classes = generator->labels()};
    writer.targets(info, view);
    writer.split(
        graph::make_split(generator->vertices(), info, view, graph::SplitFractions{}, 1).span());
    static_cast<void>(writer.commit({}));
    partition::PartitionOptions parts;
    parts.parts = 4;
    parts.method = "ldg";
    partition::partition_dataset(graph::Dataset(folder / "graph"), folder / "parts", parts,
                                 Existing::replace);
    return partition::PartitionedDataset(folder / "parts");
}

/// Both kinds of graphs, made once.
class LearnedBed : public testing::Test {
protected:
    /// Communities without features.
    static const partition::PartitionedDataset& bare() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {.width = 0});
        return parts;
    }
    static const partition::PartitionedDataset& typed() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_typed(folder.path(), 400);
        return parts;
    }
};

}  // namespace rudder::test
