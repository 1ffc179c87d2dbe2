// The sampler against the slow, obvious one, on every odd shape.
#include "sample/sampler.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/random.hpp"
#include "sample/bed.hpp"

#include "support/counted_heap.hpp"

namespace rudder::test {
namespace {

class Sampling : public ::testing::Test {
protected:
    void use(const BedOptions& options) {
        source_.reset();
        bed_ = std::make_unique<Bed>(options);
        parts_ = bed_->data().all_parts();
        rows_ = global_rows(bed_->data());
        source_ = sample::make_replicated_source(comm::Communicator::local(), bed_->data().book(),
                                                 parts_);
    }
    /// Compares one batch, with either map.
    void compare(const sample::SamplerOptions& options, const std::vector<VertexId>& seeds,
                 std::uint64_t step = 3) {
        const sample::BatchKey key{.epoch = 1, .step = step, .part = 2};
        const sample::Batch expected = plain_sample(rows_, options, key, seeds);
        for (const VertexId limit : {VertexId{0}, VertexId{1} << 28}) {
            sample::SamplerOptions with = options;
            with.direct_limit = limit;
            sample::NeighbourSampler sampler(*source_, with);
            sample::Batch batch;
            for (int again = 0; again < 2; ++again) {  // the second in memory used before
                sampler.sample(key, seeds, batch);
                ASSERT_TRUE(equal(batch, expected)) << "step " << step << ", limit " << limit;
            }
            EXPECT_EQ(batch.edges(), expected.edges());
            EXPECT_GE(batch.bytes(), batch.vertices.size() * 8);
        }
    }

    std::unique_ptr<Bed> bed_;
    std::vector<partition::Part> parts_;
    std::vector<std::vector<VertexId>> rows_;
    std::unique_ptr<sample::NeighbourSource> source_;
};

TEST_F(Sampling, RandomBatchesOfOneToFourLayers) {
    const RandomStream random({.purpose = Purpose::test, .seed = 9});
    Draws draws(random, 0);
    use({});
    for (std::uint64_t round = 0; round < 60; ++round) {
        sample::SamplerOptions options;
        options.fanout.clear();
        for (std::uint64_t i = 0; i <= round % 4; ++i) {
            const std::uint64_t kind = draws.below(6);
            options.fanout.push_back(kind == 0 ? -1
                                               : static_cast<std::int32_t>(1 + draws.below(12)));
        }
        options.with_replacement = round % 3 == 2;
        if (round % 3 == 1) {
            options.sampler = sample::Sampler::shared;
            options.redraw = 1 + draws.below(round % 2 == 0 ? 3 : 100);
        }
        options.seed = draws.next64();
        std::vector<VertexId> seeds;
        for (VertexId v = draws.below(40); v < rows_.size(); v += 1 + draws.below(60))
            seeds.push_back(v);
        compare(options, seeds, draws.next64());
    }
}

TEST_F(Sampling, NoSeeds) {
    use({});
    compare({}, {});
}

TEST_F(Sampling, IsolatedSeeds) {
    use({});
    std::vector<VertexId> isolated;
    for (VertexId v = 0; v < rows_.size(); ++v) {
        if (rows_[v].empty()) isolated.push_back(v);
    }
    ASSERT_GT(isolated.size(), 10U);
    compare({}, isolated);
    compare({.fanout = {3}, .with_replacement = true}, isolated);
    compare({.fanout = {3}, .sampler = sample::Sampler::shared, .redraw = 8}, isolated);
}

TEST_F(Sampling, FanoutsBeyondEveryDegreeAndBeyondTheLanes) {
    use({.vertices = 900, .degree = 60});
    std::vector<VertexId> all(rows_.size());
    std::iota(all.begin(), all.end(), VertexId{0});
    for (const std::int32_t fanout : {1, 2, 15, 16, 17, 128, 129, 200, 1'000'000}) {
        compare({.fanout = {fanout}}, all);
        for (const std::uint64_t redraw : {1U, 32U})
            compare({.fanout = {fanout}, .sampler = sample::Sampler::shared, .redraw = redraw},
                    all);
    }
    for (const std::int32_t fanout : {128, 129}) {
        compare({.fanout = {fanout}, .with_replacement = true}, all);
    }
    compare({.fanout = {-1, -1}}, {0, 1, 2});
}

TEST_F(Sampling, OneVertex) {
    use({.vertices = 1, .parts = 1});
    compare({}, {0});
    compare({.fanout = {-1}}, {0});
}

TEST_F(Sampling, DependsOnSeedEpochStepAndLayerButNotOnThePart) {
    use({.degree = 40});
    const std::vector<VertexId> seeds{0, 1, 2, 3, 4, 5};
    sample::NeighbourSampler sampler(*source_, {.fanout = {2, 2}});
    sample::NeighbourSampler other(*source_, {.fanout = {2, 2}, .seed = 1});
    const auto vertices = [&](sample::NeighbourSampler& by, const sample::BatchKey& key) {
        sample::Batch batch;
        by.sample(key, seeds, batch);
        return batch.vertices;
    };
    const auto first = vertices(sampler, {0, 0, 0});
    EXPECT_EQ(vertices(sampler, {0, 0, 3}), first);
    EXPECT_NE(vertices(sampler, {0, 1, 0}), first);
    EXPECT_NE(vertices(sampler, {1, 0, 0}), first);
    EXPECT_NE(vertices(other, {0, 0, 0}), first);
}

TEST_F(Sampling, AllocatesNothingOnceItsMemoryIsThere) {
    use({.vertices = 3000, .degree = 30});
    for (const VertexId limit : {VertexId{0}, VertexId{1} << 28}) {
        const auto kind = limit == 0 ? sample::Sampler::plain : sample::Sampler::shared;
        sample::NeighbourSampler sampler(
            *source_, {.fanout = {5, 10}, .sampler = kind, .redraw = 16, .direct_limit = limit});
        sample::Batch batch;
        std::vector<VertexId> seeds(100);
        const auto sample = [&](std::uint64_t step) {
            for (std::size_t i = 0; i < seeds.size(); ++i)
                seeds[i] = (step * 37 + i * 29) % 2900;
            sampler.sample({0, step, 0}, seeds, batch);
        };
        for (std::uint64_t step = 0; step < 100; ++step)
            sample(step);
        const std::uint64_t before = heap_counts().allocations;
        for (std::uint64_t step = 0; step < 100; ++step)
            sample(step);
        EXPECT_EQ(heap_counts().allocations, before) << limit;
    }
}

TEST_F(Sampling, WrongFanoutsAreRefused) {
    use({});
    for (const std::vector<std::int32_t>& fanout :
         std::vector<std::vector<std::int32_t>>{{}, {0}, {5, -2}}) {
        try {
            const sample::NeighbourSampler sampler(*source_, {.fanout = fanout});
            FAIL() << "not refused";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
        }
    }
}

/// Rows so long that a layer has 2^32 edges.
class Endless final : public sample::NeighbourSource {
public:
    void draw(const sample::DrawRequest& request, sample::DrawnNeighbours& out) const override {
        out.offsets.assign(request.vertices.size() + 1, 0);
        out.wide.clear();
    }
    void degrees(std::span<const VertexId> /*of*/, std::span<std::uint32_t> out) const override {
        std::ranges::fill(out, 0U);
    }
    [[nodiscard]] VertexId vertices() const noexcept override { return VertexId{1} << 40; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return 0; }
    [[nodiscard]] std::string_view name() const noexcept override { return "endless"; }
};

TEST(SamplingLargeGraphs, IdsBeyondThirtyTwoBitsNeedNoTableOfAllVertices) {
    const Endless source;
    sample::NeighbourSampler sampler(source, {});
    sample::Batch batch;
    sampler.sample({}, std::vector<VertexId>{VertexId{1} << 39, 5}, batch);
    EXPECT_THAT(batch.vertices, ::testing::ElementsAre(VertexId{1} << 39, 5));
}

}  // namespace
}  // namespace rudder::test
