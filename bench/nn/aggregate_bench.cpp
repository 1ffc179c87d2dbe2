// Fused mean, forward and backward: 60,000 rows, 180,000 edges, 128 and 256 columns.
#include <cstdio>
#include <cstdlib>

#include "nn/random_batch.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/aggregate.hpp"

#include "timing.hpp"

namespace {

using namespace rudder;

constexpr std::uint32_t sources = 60'000;
constexpr std::uint32_t destinations = 18'000;
constexpr std::uint32_t edges = 180'000;

sample::Block make_block() {
    std::mt19937_64 random(1);
    sample::Block block;
    block.destinations = destinations;
    block.sources = sources;
    block.offsets.push_back(0);
    for (std::uint32_t d = 0; d < destinations; ++d)
        block.offsets.push_back(
            static_cast<std::uint32_t>(std::uint64_t{edges} * (d + 1) / destinations));
    for (std::uint32_t e = 0; e < edges; ++e)
        block.neighbours.push_back(static_cast<LocalId>(random() % sources));
    return block;
}

/// Ours: forward in chunks of destinations, transposition, backward in chunks of sources.
struct Ours {
    const sample::Block& block;
    std::size_t columns;
    Array<float> table;
    Array<float> means = Array<float>::zeroed(destinations * columns);
    Array<float> gradient = Array<float>::zeroed(destinations * columns);
    Array<float> back = Array<float>::zeroed(sources * columns);
    std::vector<std::uint32_t> offsets = std::vector<std::uint32_t>(sources + 1);
    std::vector<LocalId> readers = std::vector<LocalId>(edges);

    void run() {
        const nn::ConstMatrix from{table.data(), sources, columns, columns};
        parallel_chunks(destinations, 256, [&](const Chunk& chunk) {
            nn::mean_of_neighbours(
                block, from, static_cast<std::uint32_t>(chunk.begin),
                static_cast<std::uint32_t>(chunk.end),
                {means.data() + chunk.begin * columns, chunk.end - chunk.begin, columns, columns});
        });
        parallel_chunks(destinations, 256, [&](const Chunk& chunk) {
            std::copy(means.begin() + chunk.begin * columns, means.begin() + chunk.end * columns,
                      gradient.begin() + chunk.begin * columns);
            nn::divide_by_neighbours(block, static_cast<std::uint32_t>(chunk.begin),
                                     static_cast<std::uint32_t>(chunk.end),
                                     {gradient.data() + chunk.begin * columns,
                                      chunk.end - chunk.begin, columns, columns});
        });
        const nn::TransposedBlock transposed{offsets, readers};
        nn::transpose(block, transposed);
        const nn::GradientOfSources flow{{}, {gradient.data(), destinations, columns, columns}};
        parallel_chunks(sources, 1024, [&](const Chunk& chunk) {
            nn::gather_gradient(
                transposed, flow, static_cast<std::uint32_t>(chunk.begin),
                static_cast<std::uint32_t>(chunk.end),
                {back.data() + chunk.begin * columns, chunk.end - chunk.begin, columns, columns});
        });
    }
};

}  // namespace

int main() {
    const sample::Block block = make_block();
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        for (const std::size_t columns : {128U, 256U}) {
            Ours ours{block, columns,
                      Array<float>::copy_of(testing::random_floats(sources * columns, 1))};
            std::vector<bench::Side> sides{{"fused", [&] { ours.run(); }}};
            bench::measure(sides, 9);
            std::printf("%d threads, %zu columns: %.2f ms\n", threads, columns,
                        sides[0].milliseconds);
        }
    }
    return 0;
}
