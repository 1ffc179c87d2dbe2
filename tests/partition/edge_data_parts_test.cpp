// What edges and vertices carry, from a data set to its parts and back.
#include <algorithm>

#include <gtest/gtest.h>

#include "graph/io/export.hpp"
#include "partition/partition.hpp"
#include "partition/partition_export.hpp"

#include "fixture.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

DatasetShape carrying(std::uint64_t seed) {
    DatasetShape shape = random_shape(seed);
    shape.weights = seed % 2 == 0;
    shape.times = seed % 3 != 0;
    shape.edge_width = seed % 4 == 1 ? 3 : 0;
    shape.edge_targets = static_cast<graph::TargetKind>(seed % 4);
    shape.edge_split = seed % 5 < 3;
    return shape;
}

/// The entries of a row with all they carry, in comparable form.
std::vector<std::string> row_text(const graph::ExportSource& source, VertexId v) {
    std::vector<graph::ExportedArc> row;
    source.row(v, row);
    std::ranges::stable_sort(row, {}, &graph::ExportedArc::source);
    std::vector<std::string> text;
    for (const graph::ExportedArc& arc : row) {
        text.push_back(std::to_string(arc.source) + " " + std::to_string(arc.weight) + " " +
                       std::to_string(arc.time));
        for (const std::byte b : arc.features)
            text.back() += " " + std::to_string(std::to_integer<int>(b));
        text.back() += " label " + std::to_string(arc.label) + " role " +
                       std::to_string(static_cast<int>(arc.role));
        for (const std::uint8_t label : arc.multilabel)
            text.back() += " " + std::to_string(label);
        for (const float number : arc.numbers)
            text.back() += " " + std::to_string(number);
    }
    return text;
}

TEST(EdgeDataOfParts, IsThatOfTheDataSet) {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        SCOPED_TRACE(seed);
        const TempDir temp;
        const graph::Dataset data = random_dataset(temp / "data", seed, carrying(seed));
        data.check();
        partition::PartitionOptions options;
        options.parts = static_cast<PartId>(std::min<VertexId>(1 + seed % 4, data.info().vertices));
        options.method = "random";
        partition::partition_dataset(data, temp / "parts", options, Existing::refuse);
        const partition::PartitionedDataset divided(temp / "parts");
        divided.check();
        EXPECT_EQ(divided.info().edge_weight, data.info().edge_weight);
        EXPECT_EQ(divided.info().edge_time, data.info().edge_time);
        EXPECT_EQ(divided.info().vertex_time, data.info().vertex_time);
        EXPECT_EQ(divided.info().edge_targets.kind, data.info().edge_targets.kind);
        EXPECT_EQ(divided.info().edge_targets.labelled, data.info().edge_targets.labelled);
        EXPECT_EQ(divided.info().edge_split, data.info().edge_split);
        graph::SplitCounts roles;
        VertexId labelled = 0;
        for (const partition::Part& part : divided.all_parts()) {
            labelled += part.info().edge_targets.labelled;
            const auto of = part.info().edge_split.value_or(graph::SplitCounts{});
            roles = {roles.train + of.train, roles.valid + of.valid, roles.test + of.test};
        }
        EXPECT_EQ(labelled, data.info().edge_targets.labelled);
        EXPECT_EQ(roles, data.info().edge_split.value_or(graph::SplitCounts{}));
        EXPECT_EQ(divided.info().edge_features.width, data.info().edge_features.width);
        const graph::DatasetExport whole(data);
        const partition::PartitionExport parts(divided);
        for (VertexId v = 0; v < data.info().vertices; ++v) {
            EXPECT_EQ(row_text(parts, v), row_text(whole, v)) << v;
            if (data.info().vertex_time) {
                EXPECT_EQ(parts.time_of(v), data.vertex_times()[v]) << v;
            }
        }
    }
}

TEST(EdgeDataOfParts, NeedsTheSecondVersionOnlyWhereThereIsSome) {
    for (const bool times : {false, true}) {
        const TempDir temp;
        DatasetShape shape;
        shape.times = times;
        const graph::Dataset data = random_dataset(temp / "data", 3, shape);
        partition::PartitionOptions options;
        options.parts = 1;
        options.method = "random";
        partition::partition_dataset(data, temp / "parts", options, Existing::refuse);
        const std::string version = times ? "\"version\": 2" : "\"version\": 1";
        for (const char* folder : {"data", "parts", "parts/part-00000"}) {
            const std::string text = read_text(temp / folder / "manifest.json", 1 << 20);
            EXPECT_NE(text.find(version), std::string::npos) << folder;
            EXPECT_EQ(text.find("edge_time") != std::string::npos, times) << folder;
        }
    }
}

}  // namespace
}  // namespace rudder::test
