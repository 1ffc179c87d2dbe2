// Rows of features travel with the edges that are drawn: from either topology, by any draw, and no
// draw is another because of them.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "sample/bed.hpp"
#include "sample/sampler.hpp"
#include "sample/suite.hpp"

namespace rudder::test {
namespace {

using RowsOfEdges = std::map<std::pair<VertexId, VertexId>, std::vector<std::vector<float>>>;

/// The features of all edges, by the ids of reader and neighbour; a pair may have several.
RowsOfEdges rows_of_edges(const partition::PartitionedDataset& data) {
    RowsOfEdges rows;
    for (const partition::Part& part : data.all_parts()) {
        const graph::FeatureView features = part.edge_data().features;
        for (LocalId v = 0; v < part.own(); ++v) {
            for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + std::size_t{1}]; ++e) {
                std::vector<float> row(features.info.width);
                graph::decode_row(features.info, features.row(e), {}, row);
                rows[{part.global(v), part.global(part.neighbours()[e])}].push_back(row);
            }
        }
    }
    return rows;
}

struct Variant {
    sample::Sampler sampler = sample::Sampler::plain;
    bool with_replacement = false;
    bool weighted = false;
    sample::Temporal temporal = sample::Temporal::off;
    std::int32_t fanout = 4;
};

std::vector<Variant> variants() {
    using sample::Sampler;
    using sample::Temporal;
    return {{},
            {.sampler = Sampler::shared},
            {.with_replacement = true},
            {.fanout = -1},
            {.weighted = true},
            {.temporal = Temporal::newest},
            {.sampler = Sampler::shared, .temporal = Temporal::uniform},
            {.weighted = true, .temporal = Temporal::uniform}};
}

/// Every edge of a block must have the features of one of those that join its ends, and none is
/// drawn twice unless it may be.
void expect_rows(const sample::Batch& batch, const sample::Block& block, const RowsOfEdges& rows,
                 bool again) {
    ASSERT_GT(block.edges(), 0U);
    const std::size_t columns = block.features.size() / block.edges();
    ASSERT_EQ(block.features.size(), block.edges() * columns);
    for (std::uint32_t d = 0; d < block.destinations; ++d) {
        RowsOfEdges left;
        for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
            const std::pair pair{batch.vertices[d], batch.vertices[block.neighbours[e]]};
            auto& of_pair = left.try_emplace(pair, rows.at(pair)).first->second;
            const float* const row = block.features.data() + e * columns;
            const auto found = std::ranges::find(of_pair, std::vector<float>(row, row + columns));
            ASSERT_NE(found, of_pair.end()) << "features of another edge";
            if (!again) of_pair.erase(found);
        }
    }
}

TEST(EdgeRows, AreThoseOfTheEdgesDrawn) {
    const Bed bed({.vertices = 300, .carried = true, .edge_width = 3});
    const auto rows = rows_of_edges(bed.data());
    const graph::FeatureInfo info = bed.data().info().edge_features;
    ASSERT_EQ(info.width, 3U);
    for (const bool partitioned : {false, true}) {
        comm::SimulatedCluster cluster({.ranks = 2, .ranks_per_host = 1, .seed = 4});
        cluster.run([&](const comm::Communicator& comm) {
            const auto own = own_parts(comm, bed.data());
            const sample::SeedTimes times(own);
            for (const bool timed : {false, true}) {
                // Rows are in the order of time where times are wanted.
                const sample::SourceCarries carries{
                    .weights = true, .times = timed, .features = info};
                const auto source =
                    partitioned
                        ? sample::make_partitioned_source(comm, bed.data().book(), own, false,
                                                          nullptr, carries)
                        : sample::make_replicated_source(comm, bed.data().book(), own, carries);
                for (const Variant& variant : variants()) {
                    if ((variant.temporal != sample::Temporal::off) != timed) continue;
                    sample::SamplerOptions options{.fanout = {variant.fanout, 3},
                                                   .with_replacement = variant.with_replacement,
                                                   .sampler = variant.sampler,
                                                   .redraw = 1,
                                                   .seed = 6,
                                                   .weighted = variant.weighted,
                                                   .temporal = variant.temporal,
                                                   .times = &times};
                    std::vector<VertexId> seeds;
                    for (VertexId v = own.front().range().begin; v < own.back().range().end; v += 7)
                        seeds.push_back(v);
                    sample::Batch without;
                    sample::NeighbourSampler(*source, options).sample({.step = 3}, seeds, without);
                    options.edge_features = info;
                    sample::Batch batch;
                    sample::NeighbourSampler(*source, options).sample({.step = 3}, seeds, batch);
                    EXPECT_EQ(batch.vertices, without.vertices);
                    EXPECT_GT(batch.bytes(), without.bytes());
                    for (std::size_t b = 0; b < 2; ++b) {
                        const sample::Block& block = batch.blocks[b];
                        EXPECT_EQ(block.neighbours, without.blocks[b].neighbours);
                        EXPECT_EQ(block.shares, without.blocks[b].shares);
                        EXPECT_TRUE(without.blocks[b].features.empty());
                        ASSERT_EQ(block.features.size(), block.edges() * info.width);
                        expect_rows(batch, block, rows, variant.with_replacement);
                    }
                }
                source->stop();
            }
        });
    }
}

TEST(EdgeRowsRanks, SameBatchesForAnyRanksTasksAndTopology) {
    const Bed bed({.carried = true, .edge_width = 5});
    std::vector<std::string> texts;
    for (int variant = 0; variant < 3; ++variant) {
        SamplingRun run;
        run.edge_features = true;
        run.weighted = variant == 1;
        if (variant == 2) run.temporal = sample::Temporal::uniform;
        if (variant != 1) run.sampler = sample::Sampler::shared;
        const std::string expected = run_sampling(comm::Communicator::local(), bed.data(), run);
        texts.push_back(expected);
        for (const int ranks : {2, 4}) {
            for (const bool partitioned : {false, true}) {
                run.partitioned = partitioned;
                run.tasks = 1 + ranks % 3;
                run.coding = ranks == 4 ? comm::CodingMode::always : comm::CodingMode::off;
                comm::SimulatedCluster cluster({.ranks = ranks, .ranks_per_host = 1, .seed = 3});
                cluster.run([&](const comm::Communicator& comm) {
                    EXPECT_EQ(run_sampling(comm, bed.data(), run), expected)
                        << ranks << " ranks, variant " << variant
                        << (partitioned ? ", partitioned" : ", replicated");
                });
            }
        }
    }
    EXPECT_NE(texts[0], texts[1]);
    SamplingRun bare;
    bare.sampler = sample::Sampler::shared;
    EXPECT_NE(run_sampling(comm::Communicator::local(), bed.data(), bare), texts[0]);
}

/// What a host must hold is told before it is there.
TEST(EdgeRows, CountAsBytesOfTheTopology) {
    const sample::SourceCarries bare{.weights = true};
    const sample::SourceCarries more{.weights = true,
                                     .features = {.width = 6, .type = ElementType::f16}};
    EXPECT_EQ(sample::replicated_bytes(100, 1000, more) - sample::replicated_bytes(100, 1000, bare),
              12'000U);
    const Bed bed({.edge_width = 5});
    const auto all = own_parts(comm::Communicator::local(), bed.data());
    const auto bytes = [&](bool partitioned, bool features) {
        const graph::FeatureInfo info =
            features ? bed.data().info().edge_features : graph::FeatureInfo{};
        const comm::Communicator local = comm::Communicator::local();
        const auto source =
            partitioned
                ? sample::make_partitioned_source(local, bed.data().book(), all, false, nullptr,
                                                  {.features = info})
                : sample::make_replicated_source(local, bed.data().book(), all, {.features = info});
        const std::uint64_t taken = source->bytes();
        source->stop();
        return taken;
    };
    for (const bool partitioned : {false, true}) {
        EXPECT_EQ(bytes(partitioned, true) - bytes(partitioned, false),
                  bed.data().info().edges * 5);
    }
}

}  // namespace
}  // namespace rudder::test
