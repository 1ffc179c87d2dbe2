// Draws by weight, and among what was before a seed's time.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "sample/bed.hpp"
#include "sample/sampler.hpp"
#include "sample/suite.hpp"
#include "sample/weighted_draw.hpp"

namespace rudder::test {
namespace {

TEST(ExactFunctions, AgreeWithTheLibrary) {
    for (double x = 1e-300; x < 1; x *= 1.37) {
        EXPECT_NEAR(sample::minus_log(x) / -std::log(x), 1, 1e-14) << x;
        if (const double near = 1 - x / 2; near < 1) {
            EXPECT_NEAR(sample::minus_log(near) / -std::log(near), 1, 1e-14) << x;
        }
    }
    for (double x = 1e-30; x < 1e3; x *= 1.21)
        EXPECT_NEAR(sample::one_minus_exp(x) / -std::expm1(-x), 1, 1e-12) << x;
    EXPECT_EQ(sample::one_minus_exp(0), 0);
}

RandomStream test_stream(std::uint64_t seed) {
    return RandomStream({.purpose = Purpose::test, .seed = seed});
}

const std::vector<float> some_weights{2, 0, 1, 5, 0.5F, 1, 0, 0.5F};

TEST(WeightedDraws, FirstComesByWeightAndZeroNever) {
    constexpr int draws = 40000;
    const RandomStream stream = test_stream(1);
    for (const bool again : {false, true}) {
        sample::WeightedDraw draw;
        std::vector<double> counts(some_weights.size(), 0);
        for (int v = 0; v < draws; ++v) {
            draw.draw(stream, static_cast<VertexId>(v), some_weights, 1, again);
            ASSERT_EQ(draw.positions().size(), 1U);
            EXPECT_EQ(draw.shares()[0], 1.F);
            counts[draw.positions()[0]] += 1;
        }
        for (std::size_t e = 0; e < counts.size(); ++e) {
            const double p = static_cast<double>(some_weights[e]) / 10;
            const double error = std::sqrt(draws * p * (1 - p));
            EXPECT_NEAR(counts[e], draws * p, 4 * error) << e << ' ' << again;
        }
    }
}

TEST(WeightedDraws, TakesAllThatCanBeDrawnWhereThatIsFewEnough) {
    sample::WeightedDraw draw;
    for (const std::int32_t fanout : {-1, 6, 100}) {
        draw.draw(test_stream(2), 7, some_weights, fanout, false);
        EXPECT_TRUE(std::ranges::equal(draw.positions(), std::vector<EdgeIndex>{0, 2, 3, 4, 5, 7}));
        EXPECT_FLOAT_EQ(draw.shares()[2], 0.5F);
    }
    draw.draw(test_stream(2), 7, std::vector<float>{0, 0}, 1, false);
    EXPECT_TRUE(draw.positions().empty());
    draw.draw(test_stream(2), 7, std::vector<float>{0, 0}, 1, true);
    EXPECT_TRUE(draw.positions().empty());
}

TEST(WeightedDraws, MeansOfSamplesComeOutAtTheWeightedMean) {
    const std::vector<float> values{1, 9, -2, 3, 10, 0, 7, -8};
    double exact = 0;
    for (std::size_t e = 0; e < values.size(); ++e)
        exact += static_cast<double>(some_weights[e]) * static_cast<double>(values[e]) / 10;
    for (const bool again : {false, true}) {
        sample::WeightedDraw draw;
        constexpr int draws = 40000;
        double sum = 0;
        for (int v = 0; v < draws; ++v) {
            draw.draw(test_stream(3), static_cast<VertexId>(v), some_weights, 5, again);
            double share = 0;
            for (std::size_t i = 0; i < draw.positions().size(); ++i) {
                share += static_cast<double>(draw.shares()[i]);
                sum += static_cast<double>(draw.shares()[i]) *
                       static_cast<double>(values[draw.positions()[i]]) / draws;
            }
            ASSERT_NEAR(share, 1, 1e-6);
        }
        EXPECT_NEAR(sum, exact, 0.06) << again;
    }
}

/// An entry of a row of the whole graph, with what it carries.
struct Entry {
    VertexId id;
    std::int64_t time;
    float weight;
};

std::vector<std::vector<Entry>> carried_rows(const partition::PartitionedDataset& data) {
    std::vector<std::vector<Entry>> rows;
    for (const partition::Part& part : data.all_parts()) {
        for (LocalId v = 0; v < part.own(); ++v) {
            auto& row = rows.emplace_back();
            for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + std::size_t{1}]; ++e)
                row.push_back({part.global(part.neighbours()[e]), part.edge_data().time[e],
                               part.edge_data().weight[e]});
        }
    }
    return rows;
}

/// Looks at every edge of a batch: it must be one of those before its seed's time, none more often
/// than it is there, and as many as there can be.
void expect_past(const sample::Batch& batch, const std::vector<std::vector<Entry>>& rows,
                 const std::vector<std::int64_t>& times, const sample::SamplerOptions& options) {
    const std::size_t layers = options.fanout.size();
    ASSERT_EQ(batch.subgraphs.size(), batch.vertices.size());
    for (std::size_t b = 0; b < layers; ++b) {
        const sample::Block& block = batch.blocks[b];
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            const VertexId seed = batch.vertices[batch.subgraphs[d]];
            std::vector<Entry> past;
            for (const Entry& entry : rows[batch.vertices[d]]) {
                const bool drawn = entry.weight > 0 || !options.weighted;
                if (entry.time < times[seed] && drawn) past.push_back(entry);
            }
            std::ranges::stable_sort(past, {}, &Entry::time);
            const std::int32_t fanout = options.fanout[b];
            const std::size_t wanted =
                fanout < 0 ? past.size() : std::min(past.size(), static_cast<std::size_t>(fanout));
            std::multiset<VertexId> allowed;
            const bool newest = options.temporal == sample::Temporal::newest;
            if (newest && !options.weighted)
                past.erase(past.begin(), past.end() - static_cast<std::ptrdiff_t>(wanted));
            for (const Entry& entry : past)
                allowed.insert(entry.id);
            if (!(newest && options.weighted)) {
                ASSERT_EQ(block.offsets[d + 1] - block.offsets[d], wanted);
            }
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
                const LocalId source = block.neighbours[e];
                ASSERT_EQ(batch.subgraphs[source], batch.subgraphs[d]);
                const auto found = allowed.find(batch.vertices[source]);
                ASSERT_NE(found, allowed.end()) << "an edge that is not of the past";
                allowed.erase(found);
            }
        }
    }
}

TEST(Temporal, NothingLaterIsEverDrawn) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Bed bed({.vertices = 300, .degree = 12, .seed = seed, .carried = true});
        const auto rows = carried_rows(bed.data());
        std::vector<std::int64_t> times;
        for (const partition::Part& part : bed.data().all_parts())
            times.insert(times.end(), part.vertex_times().begin(), part.vertex_times().end());
        for (const bool partitioned : {false, true}) {
            comm::SimulatedCluster cluster({.ranks = 2, .ranks_per_host = 1, .seed = seed});
            cluster.run([&](const comm::Communicator& comm) {
                const auto own = own_parts(comm, bed.data());
                const sample::SeedTimes own_times(own);
                const sample::SourceCarries carries{.weights = true, .times = true};
                const auto source =
                    partitioned
                        ? sample::make_partitioned_source(comm, bed.data().book(), own, false,
                                                          nullptr, carries)
                        : sample::make_replicated_source(comm, bed.data().book(), own, carries);
                for (int variant = 0; variant < 8; ++variant) {
                    sample::SamplerOptions options{.fanout = {4, -1, 3}, .seed = seed};
                    options.temporal =
                        variant % 2 == 0 ? sample::Temporal::newest : sample::Temporal::uniform;
                    options.weighted = variant / 2 == 1;
                    if (variant / 2 == 2) options.sampler = sample::Sampler::shared;
                    if (variant / 2 == 2) options.redraw = 4;
                    options.times = &own_times;
                    std::vector<VertexId> seeds;
                    for (VertexId v = own.front().range().begin; v < own.back().range().end; v += 7)
                        seeds.push_back(v);
                    sample::NeighbourSampler sampler(*source, options);
                    sample::Batch batch;
                    sampler.sample({.step = seed}, seeds, batch);
                    expect_past(batch, rows, times, options);
                    EXPECT_GT(batch.edges(), 0U);
                }
                source->stop();
            });
        }
    }
}

TEST(CarriedRanks, SameBatchesForAnyRanksTasksAndTopology) {
    const Bed bed({.carried = true});
    for (int variant = 0; variant < 5; ++variant) {
        SamplingRun run;
        run.weighted = variant == 0 || variant == 3;
        run.temporal = variant == 0   ? sample::Temporal::off
                       : variant == 1 ? sample::Temporal::newest
                                      : sample::Temporal::uniform;
        if (variant == 4) run.sampler = sample::Sampler::shared;
        if (variant == 4) run.redraw = 3;
        const std::string expected = run_sampling(comm::Communicator::local(), bed.data(), run);
        for (const int ranks : {1, 2, 4}) {
            for (const bool partitioned : {false, true}) {
                run.partitioned = partitioned;
                run.tasks = 1 + ranks % 3;
                comm::SimulatedCluster cluster({.ranks = ranks, .ranks_per_host = 1, .seed = 3});
                cluster.run([&](const comm::Communicator& comm) {
                    EXPECT_EQ(run_sampling(comm, bed.data(), run), expected)
                        << ranks << " ranks, variant " << variant
                        << (partitioned ? ", partitioned" : ", replicated");
                });
            }
        }
    }
}

}  // namespace
}  // namespace rudder::test
