// Batches of links: what is kept back is never drawn, nor what a batch is asked about.
#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "sample/batch_sampler.hpp"
#include "sample/bed.hpp"
#include "sample/draw_any.hpp"
#include "sample/suite.hpp"

namespace rudder::test {
namespace {

using graph::Role;
using Pair = std::pair<VertexId, VertexId>;

struct LinkRun {
    int ranks = 1;
    bool partitioned = false;
    bool symmetric = true;
    bool degrees = false;
    sample::SamplerOptions sampler{.fanout = {3, 5}};
    sample::Negatives negatives = sample::Negatives::uniform;
};

/// A batch of a run, and what it was sampled for.
struct LinkBatch {
    sample::Batch batch;
    std::vector<VertexId> ids;  ///< four of each link
};

/// All batches of two epochs by step and part, and how edges were divided: (source, target).
struct LinkBatches {
    std::map<std::pair<std::uint64_t, PartId>, LinkBatch> batches;
    std::map<Role, std::set<Pair>> links;
    std::map<VertexId, std::uint32_t> degrees;  ///< as the sampler gave them
};

LinkBatches sample_links(const Bed& bed, const LinkRun& run) {
    LinkBatches all;
    std::mutex mutex;
    comm::SimulatedCluster cluster({.ranks = run.ranks, .seed = 1});
    cluster.run([&](const comm::Communicator& comm) {
        const partition::PartitionedDataset& data = bed.data();
        const auto own = own_parts(comm, data);
        sample::OwnLinks divided = sample::divide_links(
            comm, data.book(), own,
            sample::LinkDraws({.valid = 0.15, .test = 0.15}, run.symmetric, 3), run.symmetric);
        std::vector<std::uint64_t> counts;
        for (const sample::PartLinks& links : divided.links)
            counts.push_back(links.train.size());
        const auto source =
            run.partitioned
                ? sample::make_partitioned_source(comm, data.book(), own, run.degrees, nullptr, {},
                                                  divided.messages)
                : sample::make_replicated_source(comm, data.book(), own, {}, divided.messages);
        const sample::Schedule schedule(comm, own, counts, data.parts(), {.batch = 64, .seed = 5});
        const sample::LinkSeeds seeds(
            own, divided.links,
            {.negatives = run.negatives, .count = 2, .vertices = source->vertices()}, run.symmetric,
            5);
        sample::SamplerOptions options = run.sampler;
        options.degrees = run.degrees;
        options.links = &seeds;
        sample::BatchSampler sampler(schedule, *source, options);
        std::map<std::pair<std::uint64_t, PartId>, LinkBatch> mine;
        sample::LinkSeeds::Scratch scratch;
        for (std::uint64_t step = 0; step < 2 * schedule.steps_per_epoch(); ++step) {
            for (const partition::Part& part : own) {
                LinkBatch& one = mine[{step, part.id()}];
                sampler.sample(part.id(), step, one.batch);
                schedule.links(part.id(), step, scratch.places);
                const auto laid =
                    seeds.lay_out({schedule.epoch_of(step), step, part.id()}, scratch);
                one.ids.assign(laid.ids.begin(), laid.ids.end());
            }
        }
        source->stop();
        const std::lock_guard lock(mutex);
        for (auto& [key, one] : mine) {
            for (std::size_t i = 0; i < one.batch.degrees.size(); ++i)
                all.degrees[one.batch.vertices[i]] = one.batch.degrees[i];
            all.batches[key] = std::move(one);
        }
        for (std::size_t i = 0; i < own.size(); ++i) {
            for (const Role role : {Role::train, Role::valid, Role::test}) {
                const sample::LinkList& list = divided.links[i].of(role);
                for (std::size_t l = 0; l < list.size(); ++l)
                    all.links[role].insert({own[i].global(list.sources[l]), list.targets[l]});
            }
        }
    });
    return all;
}

/// Edges (neighbour, vertex of the row) of some links.
std::set<Pair> edges_of_links(const std::set<Pair>& links, bool symmetric) {
    std::set<Pair> edges = links;
    for (const auto& [source, target] : links) {
        if (symmetric) edges.insert({target, source});
    }
    return edges;
}

std::set<Pair> asked_about(const LinkBatch& one, bool symmetric) {
    std::set<Pair> links;
    for (std::size_t i = 0; i < one.ids.size(); i += 4)
        links.insert({one.ids[i], one.ids[i + 1]});
    return edges_of_links(links, symmetric);
}

/// Calls `drawn` with layer (from the seeds' on), destination and what it drew.
template <class Drawn>
void each_draw(const sample::Batch& batch, Drawn&& drawn) {
    const std::size_t layers = batch.blocks.size();
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const sample::Block& block = batch.blocks[layers - 1 - layer];
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            std::vector<VertexId> neighbours;
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e)
                neighbours.push_back(batch.vertices[block.neighbours[e]]);
            drawn(layer, batch.vertices[d], neighbours);
        }
    }
}

std::vector<LinkRun> all_runs() {
    std::vector<LinkRun> runs;
    for (const bool symmetric : {true, false}) {
        for (const auto sampler : {sample::Sampler::plain, sample::Sampler::shared}) {
            for (const bool partitioned : {false, true}) {
                runs.push_back({.ranks = partitioned ? 4 : 2,
                                .partitioned = partitioned,
                                .symmetric = symmetric,
                                .sampler = {.fanout = {3, 5},
                                            .sampler = sampler,
                                            .redraw = sampler == sample::Sampler::shared ? 4U : 1U,
                                            .seed = 9}});
            }
        }
    }
    return runs;
}

TEST(LinkBatches, NothingKeptBackOrAskedAboutIsEverDrawn) {
    const Bed bed;
    for (const LinkRun& run : all_runs()) {
        const LinkBatches all = sample_links(bed, run);
        std::set<Pair> kept_back = edges_of_links(all.links.at(Role::valid), run.symmetric);
        kept_back.merge(edges_of_links(all.links.at(Role::test), run.symmetric));
        const std::set<Pair> trained = edges_of_links(all.links.at(Role::train), run.symmetric);
        std::set<Pair> asked;
        std::uint64_t drawn = 0;
        for (const auto& [key, one] : all.batches) {
            const std::set<Pair> own = asked_about(one, run.symmetric);
            asked.insert(own.begin(), own.end());
            each_draw(one.batch, [&](std::size_t, VertexId v, const auto& neighbours) {
                for (const VertexId u : neighbours) {
                    ++drawn;
                    ASSERT_FALSE(kept_back.contains({u, v})) << u << " -> " << v;
                    ASSERT_FALSE(own.contains({u, v})) << u << " -> " << v;
                }
            });
        }
        EXPECT_EQ(asked, trained) << "every link is asked about";
        EXPECT_GT(drawn, 10000U);
    }
}

/// Whatever the rule, in its own words, draws from a row without what is left out.
std::vector<VertexId> slow_draw(std::vector<VertexId> row, const std::set<Pair>& without,
                                VertexId vertex, const sample::SamplerOptions& options,
                                const StreamKey& key, std::int32_t fanout) {
    std::erase_if(row, [&](VertexId u) { return without.contains({u, vertex}); });
    if (options.sampler == sample::Sampler::shared)
        return shared_draw(row, key, fanout, options.redraw);
    return plain_draw(row, key, vertex, fanout, options.with_replacement);
}

TEST(LinkBatches, DrawFromRowsAsIfTheirEdgesWereNotThere) {
    const Bed bed;
    const auto rows = global_rows(bed.data());
    std::vector<LinkRun> runs = all_runs();
    runs.push_back({.sampler = {.fanout = {3, 5}, .with_replacement = true, .seed = 2}});
    runs.push_back({.ranks = 2, .partitioned = true, .sampler = {.fanout = {-1, 200}, .seed = 2}});
    for (const LinkRun& run : runs) {
        const LinkBatches all = sample_links(bed, run);
        std::set<Pair> kept_back = edges_of_links(all.links.at(Role::valid), run.symmetric);
        kept_back.merge(edges_of_links(all.links.at(Role::test), run.symmetric));
        for (const auto& [key, one] : all.batches) {
            std::set<Pair> without = asked_about(one, run.symmetric);
            without.insert(kept_back.begin(), kept_back.end());
            each_draw(one.batch, [&](std::size_t layer, VertexId v, const auto& neighbours) {
                const StreamKey stream{Purpose::sample, run.sampler.seed, one.batch.key.epoch,
                                       one.batch.key.step, static_cast<std::uint32_t>(layer)};
                ASSERT_EQ(neighbours, slow_draw(rows[v], without, v, run.sampler, stream,
                                                run.sampler.fanout[1 - layer]))
                    << "vertex " << v << ", layer " << layer;
            });
            if (HasFatalFailure()) return;
        }
    }
}

TEST(LeftOut, HubsDoNotKeepWhatIsLeftOutOrForgetWhatIsNot) {
    // Vertex 0 has all others as neighbours, vertex 1 every third.
    constexpr std::uint32_t others = 3000;
    std::vector<EdgeIndex> offsets{0};
    std::vector<std::uint32_t> ids;
    for (std::uint32_t u = 2; u < others; ++u)
        ids.push_back(u);
    offsets.push_back(ids.size());
    for (std::uint32_t u = 2; u < others; u += 3)
        ids.push_back(u);
    offsets.push_back(ids.size());
    const sample::WholeRows<std::uint32_t> rows{offsets.data(), ids.data()};
    const std::vector<VertexId> vertices{1, 0};
    sample::DrawnNeighbours out;
    for (std::uint64_t step = 0; step < 40; ++step) {
        sample::DrawRequest request{.key = {.purpose = Purpose::sample, .seed = 3, .step = step},
                                    .vertices = vertices,
                                    .fanout = 10,
                                    .sampler = sample::Sampler::shared,
                                    .redraw = 8};
        std::vector<std::vector<VertexId>> without(2);
        // What was drawn in the step before is left out in every other one, so that it would show.
        for (std::size_t i = 0; step % 2 == 1 && i < 2; ++i) {
            without[i].assign(out.narrow.begin() + out.offsets[i],
                              out.narrow.begin() + out.offsets[i + 1]);
        }
        if (step % 4 == 3) without[1].clear();
        std::vector<std::uint32_t> starts{0};
        std::vector<VertexId> neighbours;
        for (const std::vector<VertexId>& of : without) {
            neighbours.insert(neighbours.end(), of.begin(), of.end());
            starts.push_back(static_cast<std::uint32_t>(neighbours.size()));
        }
        request.left_out = {starts, neighbours};
        sample::draw_any<std::uint32_t>(rows, request, out);
        for (std::size_t i = 0; i < 2; ++i) {
            const auto begin = static_cast<std::ptrdiff_t>(offsets[vertices[i]]);
            const auto end = static_cast<std::ptrdiff_t>(offsets[vertices[i] + 1]);
            std::vector<VertexId> row(ids.begin() + begin, ids.begin() + end);
            std::erase_if(row, [&](VertexId u) { return std::ranges::count(without[i], u) != 0; });
            const std::vector<VertexId> drawn(out.narrow.begin() + out.offsets[i],
                                              out.narrow.begin() + out.offsets[i + 1]);
            ASSERT_EQ(drawn, shared_draw(row, request.key, 10, 8)) << "step " << step;
        }
    }
}

TEST(LinkBatches, SeedsAreDistinctAndPositionsSayWhichWasAskedFor) {
    const Bed bed;
    const LinkBatches all = sample_links(bed, {});
    std::uint64_t repeated = 0;
    for (const auto& [key, one] : all.batches) {
        const sample::Batch& batch = one.batch;
        ASSERT_EQ(batch.seed_positions.size(), one.ids.size());
        ASSERT_EQ(batch.blocks.back().destinations, batch.seeds);
        std::set<VertexId> distinct(batch.vertices.begin(), batch.vertices.end());
        EXPECT_EQ(distinct.size(), batch.vertices.size());
        for (std::size_t i = 0; i < one.ids.size(); ++i) {
            ASSERT_LT(batch.seed_positions[i], batch.seeds);
            ASSERT_EQ(batch.vertices[batch.seed_positions[i]], one.ids[i]);
        }
        repeated += one.ids.size() - batch.seeds;
    }
    EXPECT_GT(repeated, 100U) << "some come several times";
}

TEST(LinkBatches, DoNotDependOnRanksOrTopology) {
    const Bed bed;
    for (const auto sampler : {sample::Sampler::plain, sample::Sampler::shared}) {
        for (const auto negatives : {sample::Negatives::uniform, sample::Negatives::batch}) {
            const LinkRun alone{
                .degrees = true,
                .sampler = {.fanout = {3, 5}, .sampler = sampler, .redraw = 4, .seed = 9},
                .negatives = negatives};
            const LinkBatches first = sample_links(bed, alone);
            for (const int ranks : {1, 2, 4}) {
                for (const bool partitioned : {false, true}) {
                    LinkRun run = alone;
                    run.ranks = ranks;
                    run.partitioned = partitioned;
                    const LinkBatches other = sample_links(bed, run);
                    EXPECT_EQ(first.links, other.links);
                    EXPECT_EQ(first.degrees, other.degrees);
                    ASSERT_EQ(first.batches.size(), other.batches.size());
                    for (const auto& [key, one] : first.batches) {
                        const LinkBatch& same = other.batches.at(key);
                        ASSERT_TRUE(equal(one.batch, same.batch)) << ranks << partitioned;
                        ASSERT_EQ(one.batch.seed_positions, same.batch.seed_positions);
                    }
                }
            }
        }
    }
}

TEST(LinkBatches, DegreesAreThoseOfWhatMessagesPassAlong) {
    const Bed bed;
    const auto rows = global_rows(bed.data());
    const LinkBatches all = sample_links(bed, {.degrees = true});
    std::set<Pair> kept_back = edges_of_links(all.links.at(Role::valid), true);
    kept_back.merge(edges_of_links(all.links.at(Role::test), true));
    ASSERT_FALSE(all.degrees.empty());
    for (const auto& [v, degree] : all.degrees) {
        const auto left = std::ranges::count_if(rows[v], [&, v = v](VertexId u) {
            return !kept_back.contains({u, v});
        });
        ASSERT_EQ(degree, left) << v;
    }
}

}  // namespace
}  // namespace rudder::test
