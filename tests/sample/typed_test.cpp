// Draws in graphs of several types: each type of edges as the rule says for it alone, whoever
// draws.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "graph/generate/generate.hpp"
#include "partition/partition.hpp"
#include "sample/bed.hpp"
#include "sample/sampler.hpp"
#include "sample/suite.hpp"

namespace rudder::test {
namespace {

using RowLists = std::vector<std::vector<VertexId>>;

/// A generated graph of papers, authors and venues in four parts.
class TypedBed {
public:
    explicit TypedBed(VertexId vertices = 400, double degree = 12) {
        graph::GenerateOptions options;
        options.kind = "typed";
        options.output = folder_ / "data";
        options.generator.vertices = vertices;
        options.generator.degree = degree;
        options.features = "none";
        graph::generate_dataset(options, Progress::none());
        partition::PartitionOptions parts;
        parts.parts = 4;
        parts.method = "random";
        partition::partition_dataset(graph::Dataset(folder_ / "data"), folder_ / "parts", parts,
                                     Existing::refuse);
        data_ = std::make_unique<partition::PartitionedDataset>(folder_ / "parts");
    }
    [[nodiscard]] const partition::PartitionedDataset& data() const { return *data_; }

    [[nodiscard]] sample::TypedSampling sampling(
        std::vector<std::vector<std::int32_t>> fanout) const {
        sample::TypedSampling types;
        types.book = data_->book();
        types.vertices = data_->types();
        for (const graph::EdgeType& type : data_->info().types.edges)
            types.edges.push_back({type.from, type.to});
        types.fanout = std::move(fanout);
        return types;
    }
    /// By type of edges: the rows of all vertices, global ids.
    [[nodiscard]] std::vector<RowLists> rows() const {
        std::vector<RowLists> all(data_->info().types.edges.size(),
                                  RowLists(data_->info().vertices));
        for (const partition::Part& part : data_->all_parts()) {
            for (std::size_t v = 0; v < part.own(); ++v) {
                for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + 1]; ++e) {
                    all[part.edge_data().type[e]][part.range().begin + v].push_back(
                        part.global(part.neighbours()[e]));
                }
            }
        }
        return all;
    }
    [[nodiscard]] std::size_t type_of(VertexId v) const {
        return data_->types().type(data_->book().owner(v), v);
    }

private:
    TempDir folder_;
    std::unique_ptr<partition::PartitionedDataset> data_;
};

const sample::BatchKey key{.epoch = 1, .step = 37, .part = 2};

/// Every seventh vertex, of whatever type.
std::vector<VertexId> some_seeds(const TypedBed& bed) {
    std::vector<VertexId> seeds;
    for (VertexId v = 3; v < bed.data().info().vertices; v += 7)
        seeds.push_back(v);
    return seeds;
}

/// The batch by the rule's own words.
sample::Batch slow_sample(const TypedBed& bed, const sample::SamplerOptions& options,
                          const std::vector<VertexId>& seeds) {
    const std::vector<RowLists> rows = bed.rows();
    sample::Batch batch;
    batch.key = key;
    batch.seeds = static_cast<std::uint32_t>(seeds.size());
    batch.vertices.assign(seeds.begin(), seeds.end());
    std::map<VertexId, LocalId> position;
    for (const VertexId v : seeds)
        position.emplace(v, static_cast<LocalId>(position.size()));
    const std::size_t layers = options.fanout.size();
    batch.blocks.resize(layers);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::size_t index = layers - 1 - layer;
        sample::Block& block = batch.blocks[index];
        block.destinations = static_cast<std::uint32_t>(batch.vertices.size());
        block.offsets.assign(1, 0);
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            const VertexId v = batch.vertices[d];
            block.destination_types.push_back(static_cast<std::uint8_t>(bed.type_of(v)));
            for (std::size_t t = 0; t < rows.size(); ++t) {
                if (options.types->edges[t].to != bed.type_of(v)) continue;
                const std::int32_t fanout = options.types->fanout[index][t];
                if (fanout == 0) continue;
                const StreamKey stream{options.purpose, options.seed, key.epoch, key.step,
                                       static_cast<std::uint32_t>(layer + ((t + 1) << 16))};
                const auto drawn =
                    options.sampler == sample::Sampler::shared && fanout > 0
                        ? shared_draw(rows[t][v], stream, fanout, options.redraw)
                        : plain_draw(rows[t][v], stream, v, fanout, options.with_replacement);
                for (const VertexId u : drawn) {
                    const auto [at, is_new] =
                        position.emplace(u, static_cast<LocalId>(position.size()));
                    if (is_new) batch.vertices.push_back(u);
                    block.neighbours.push_back(at->second);
                    block.types.push_back(static_cast<std::uint8_t>(t));
                }
            }
            block.offsets.push_back(block.edges());
        }
        block.sources = static_cast<std::uint32_t>(batch.vertices.size());
    }
    return batch;
}

void expect_equal(const sample::Batch& a, const sample::Batch& b) {
    EXPECT_TRUE(equal(a, b));
    for (std::size_t l = 0; l < a.blocks.size(); ++l) {
        EXPECT_EQ(a.blocks[l].types, b.blocks[l].types);
        EXPECT_EQ(a.blocks[l].destination_types, b.blocks[l].destination_types);
    }
}

/// cites, rejects, writes, appears_in, rev_writes, rev_appears_in.
const std::vector<std::vector<std::int32_t>> some_fanouts{{2, 3, 1, 4, 2, 0}, {-1, 2, 5, 3, 40, 7}};

class TypedDraws : public ::testing::TestWithParam<sample::Sampler> {
protected:
    static sample::SamplerOptions options_of(const sample::TypedSampling& types) {
        return {.fanout = {10, 10},
                .sampler = GetParam(),
                .redraw = GetParam() == sample::Sampler::shared ? 8U : 1U,
                .seed = 5,
                .types = &types};
    }
};
INSTANTIATE_TEST_SUITE_P(Samplers, TypedDraws,
                         ::testing::Values(sample::Sampler::plain, sample::Sampler::shared),
                         [](const auto& kind) {
                             return kind.param == sample::Sampler::plain ? "plain" : "shared";
                         });

TEST_P(TypedDraws, AreWhatTheRuleSaysOfEachType) {
    const TypedBed bed;
    const sample::TypedSampling types = bed.sampling(some_fanouts);
    const sample::SamplerOptions options = options_of(types);
    const comm::Communicator comm = comm::Communicator::local();
    const auto parts = own_parts(comm, bed.data());
    const std::vector<VertexId> seeds = some_seeds(bed);
    const sample::Batch expected = slow_sample(bed, options, seeds);
    for (const bool partitioned : {false, true}) {
        const auto source =
            partitioned
                ? sample::make_partitioned_source(comm, bed.data().book(), parts, false, nullptr,
                                                  {.types = true})
                : sample::make_replicated_source(comm, bed.data().book(), parts, {.types = true});
        sample::NeighbourSampler sampler(*source, options);
        sample::Batch batch;
        for (int turn = 0; turn < 2; ++turn) {  // memory that is kept changes nothing
            sampler.sample(key, seeds, batch);
            expect_equal(batch, expected);
        }
        source->stop();
    }
}

TEST_P(TypedDraws, AreTheSameOnAnyRanksAndTopology) {
    const TypedBed bed(900, 30);
    const sample::TypedSampling types = bed.sampling(some_fanouts);
    const sample::SamplerOptions options = options_of(types);
    const std::vector<VertexId> seeds = some_seeds(bed);
    const sample::Batch expected = slow_sample(bed, options, seeds);
    for (const int ranks : {1, 2, 4}) {
        for (const bool partitioned : {false, true}) {
            std::vector<sample::Batch> batches(static_cast<std::size_t>(ranks));
            comm::SimulatedCluster cluster({.ranks = ranks, .ranks_per_host = 1, .seed = 2});
            cluster.run([&](const comm::Communicator& comm) {
                const auto parts = own_parts(comm, bed.data());
                const auto source =
                    partitioned ? sample::make_partitioned_source(comm, bed.data().book(), parts,
                                                                  false, nullptr, {.types = true})
                                : sample::make_replicated_source(comm, bed.data().book(), parts,
                                                                 {.types = true});
                sample::NeighbourSampler sampler(*source, options);
                sampler.sample(key, seeds, batches[static_cast<std::size_t>(comm.rank())]);
                source->stop();
            });
            for (const sample::Batch& batch : batches)
                expect_equal(batch, expected);
        }
    }
}

/// Of all neighbours every type is complete, and a type that is left out has none.
TEST(TypedDraw, AllAndNone) {
    const TypedBed bed;
    const std::vector<RowLists> rows = bed.rows();
    const sample::TypedSampling types = bed.sampling({{-1, 0, -1, -1, -1, -1}});
    const comm::Communicator comm = comm::Communicator::local();
    const auto parts = own_parts(comm, bed.data());
    const auto source =
        sample::make_replicated_source(comm, bed.data().book(), parts, {.types = true});
    sample::NeighbourSampler sampler(*source, {.fanout = {-1}, .types = &types});
    const std::vector<VertexId> seeds = some_seeds(bed);
    sample::Batch batch;
    sampler.sample(key, seeds, batch);
    const sample::Block& block = batch.blocks.front();
    for (std::uint32_t d = 0; d < block.destinations; ++d) {
        std::vector<std::size_t> counts(rows.size(), 0);
        for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e)
            ++counts[block.types[e]];
        for (std::size_t t = 0; t < rows.size(); ++t)
            EXPECT_EQ(counts[t], t == 1 ? 0 : rows[t][batch.vertices[d]].size()) << t;
    }
    source->stop();
}

}  // namespace
}  // namespace rudder::test
