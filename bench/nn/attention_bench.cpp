// The attention of one GAT layer, forward and backward: from the mapped rows of the sources to
// their gradient and that of the two attention vectors, for a given gradient of the output; the
// linear map is no part of it.
#include <cstdio>

#include "nn/attention.hpp"
#include "nn/random_batch.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/linear.hpp"

#include "timing.hpp"

namespace {

using namespace rudder;

constexpr std::size_t destinations = 15'000;
constexpr std::size_t sources = 85'000;

sample::Block make_block(std::uint32_t fanout) {
    std::mt19937_64 random(5);
    sample::Block block;
    block.destinations = destinations;
    block.sources = sources;
    block.offsets.push_back(0);
    for (std::size_t d = 0; d < destinations; ++d) {
        const std::uint64_t degree = 1 + random() % fanout;
        for (std::uint64_t e = 0; e < degree; ++e)
            block.neighbours.push_back(static_cast<LocalId>(random() % sources));
        block.offsets.push_back(block.edges());
    }
    return block;
}

struct Fused {
    const sample::Block& block;
    nn::Heads heads;
    const std::vector<float>& rows;
    const std::vector<float>& output_gradient;
    const std::vector<float>& vectors;
    std::size_t width = heads.width();
    Array<float> values = Array<float>::uninitialised(sources * width);
    Array<float> source_scores = Array<float>::uninitialised(sources * heads.count);
    Array<float> destination_scores = Array<float>::uninitialised(destinations * heads.count);
    Array<float> alphas = Array<float>::uninitialised(nn::entry_count(block) * heads.count);
    Array<float> deltas = Array<float>::uninitialised(nn::entry_count(block) * heads.count);
    Array<float> out = Array<float>::uninitialised(destinations * width);
    Array<float> source_sums = Array<float>::uninitialised(sources * heads.count);
    Array<float> destination_sums = Array<float>::uninitialised(destinations * heads.count);
    Array<float> back = Array<float>::uninitialised(sources * width);
    Array<std::uint32_t> offsets = Array<std::uint32_t>::uninitialised(sources + 1);
    Array<LocalId> readers = Array<LocalId>::uninitialised(block.edges());
    Array<std::uint32_t> edges = Array<std::uint32_t>::uninitialised(block.edges());
    nn::Lanes lanes{sources};
    Array<float> sums = Array<float>::uninitialised(2 * nn::LaneColumns::floats(lanes, width));
    std::vector<float> vector_gradient = std::vector<float>(2 * width);

    /// What the layer's product leaves; not counted.
    void reset() { std::copy(rows.begin(), rows.end(), values.begin()); }

    void run() {
        const nn::Matrix z{values.data(), sources, width, width};
        const nn::ConstMatrix gradient{output_gradient.data(), destinations, width, width};
        const nn::Attention attention{&block, heads, z, alphas.data(), deltas.data()};
        const nn::AdditiveScores scores{source_scores.data(), destination_scores.data(),
                                        source_sums.data(), destination_sums.data()};
        const float* destination_vector = vectors.data() + width;
        parallel_chunks(sources, nn::chunk_rows, [&](const Chunk& c) {
            nn::head_products(heads, z.part(c.begin, c.end - c.begin), vectors.data(),
                              source_scores.data() + c.begin * heads.count);
        });
        parallel_chunks(destinations, nn::chunk_rows, [&](const Chunk& c) {
            nn::head_products(heads, z.part(c.begin, c.end - c.begin), destination_vector,
                              destination_scores.data() + c.begin * heads.count);
        });
        parallel_chunks(destinations, nn::chunk_rows, [&](const Chunk& c) {
            nn::attend(attention, scores, {c.begin, c.end - c.begin},
                       {out.data() + c.begin * width, c.end - c.begin, width, width});
        });
        const nn::TransposedBlock transposed{offsets.span(), readers.span(), edges.span()};
        nn::transpose(block, transposed);
        parallel_chunks(destinations, nn::chunk_rows, [&](const Chunk& c) {
            nn::attend_backward(attention, scores, gradient, {c.begin, c.end - c.begin});
        });
        const nn::LaneColumns first(sums.data(), lanes, width);
        const nn::LaneColumns second(sums.data() + nn::LaneColumns::floats(lanes, width), lanes,
                                     width);
        parallel_chunks(sources, lanes.size, [&](const Chunk& lane) {
            first.clear(lane.index);
            second.clear(lane.index);
            const std::size_t count = lane.end - lane.begin;
            const nn::Matrix through{back.data() + lane.begin * width, count, width, width};
            nn::gather_attention(attention, scores, transposed, gradient, {lane.begin, count},
                                 through);
            nn::finish_additive(heads,
                                {vectors.data(), destination_vector, first.lane(lane.index),
                                 second.lane(lane.index)},
                                through, scores, destinations, lane.begin,
                                z.part(lane.begin, count));
        });
        first.finish(vector_gradient.data());
        second.finish(vector_gradient.data() + width);
    }
};

void measure(const nn::Heads& heads, std::uint32_t fanout) {
    const sample::Block block = make_block(fanout);
    const auto rows = testing::random_floats(sources * heads.width(), 1);
    const auto vectors = testing::random_floats(2 * heads.width(), 2, 0.3F);
    const auto gradient = testing::random_floats(destinations * heads.width(), 3);
    Fused fused{block, heads, rows, gradient, vectors};
    std::vector<bench::Side> sides{{"fused", [&] { fused.run(); }}};
    // Further runs start from gradients instead of rows, which takes the same time.
    bench::measure(sides, 9);
    std::printf("%zu heads x %zu, %u edges: %.1f ms\n", heads.count, heads.columns, block.edges(),
                sides[0].milliseconds);
}

}  // namespace

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    set_thread_count(threads);
    std::printf("%d threads; %zu destinations, %zu sources\n", threads, destinations, sources);
    measure({4, 64}, 20);
    measure({8, 32}, 20);
    measure({1, 128}, 20);
    measure({4, 64}, 50);
    return 0;
}
