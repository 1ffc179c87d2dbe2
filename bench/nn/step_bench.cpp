// One training step (128 features, hidden 256, 47 classes, batch 2000, fan-out 10,25) against the
// bare matrix products of its shapes plus the bytes it must move at the speed of a copy.
//
// The step: gather of the input rows from a table, Network::train, Adam.
// The products: the same shapes in the same chunks on the same threads, nothing else.
// Bytes moved, each way once: the gather reads and writes each input row; each layer reads one row
// per edge and one per destination, writes [own | mean], reads it for the product and again for the
// weights' gradient; writes its output, reads and writes it for the activation, reads it as
// gradient and once more for the product; layers above the first also write and read the gradient
// of [own | mean], one row per edge of it, and read and write the rows below. What in truth stays
// in the cache between two of these counts all the same in `all`; `needed` counts only what must
// come from or go to memory when each chunk is finished in one go: rows per edge, [own | mean] and
// output once written and once read, gradients once. A copy's speed counts bytes read plus written.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <numeric>

#include "nn/random_batch.hpp"
#include "nn/simd.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"
#include "rudder/nn/dropout.hpp"
#include "rudder/nn/linear.hpp"
#include "rudder/nn/optimiser.hpp"

#include "timing.hpp"

namespace {

using namespace rudder;

constexpr std::size_t features = 128;
constexpr std::size_t hidden = 256;
constexpr std::size_t classes = 47;
constexpr std::uint64_t graph_vertices = 95'000;

/// A batch of a random graph whose popular vertices are drawn more often: about 85,000 input rows.
sample::Batch make_batch() {
    std::mt19937_64 random(5);
    sample::Batch batch;
    batch.key = {0, 3, 0};
    batch.seeds = 2000;
    batch.blocks.resize(2);
    std::vector<std::uint32_t> local(graph_vertices, ~0U);
    const auto add = [&](std::uint64_t vertex) {
        if (local[vertex] == ~0U) {
            local[vertex] = static_cast<std::uint32_t>(batch.vertices.size());
            batch.vertices.push_back(vertex);
        }
        return local[vertex];
    };
    const auto popular = [&] {  // density falls with the square root
        const double u = std::uniform_real_distribution<double>(0, 1)(random);
        return static_cast<std::uint64_t>(u * u * static_cast<double>(graph_vertices - 1));
    };
    while (batch.vertices.size() < batch.seeds)
        add(popular());
    const std::uint32_t fanouts[]{10, 25};
    for (std::size_t l = 2; l-- > 0;) {
        sample::Block& block = batch.blocks[l];
        block.destinations = static_cast<std::uint32_t>(batch.vertices.size());
        block.offsets.push_back(0);
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            // Degrees between 1 and far above the fan-out, most of them small.
            const auto degree = static_cast<std::uint32_t>(
                8.0 / (1e-3 + std::uniform_real_distribution<double>(0, 1)(random)));
            for (std::uint32_t e = 0; e < std::min(fanouts[l], degree); ++e)
                block.neighbours.push_back(add(popular()));
            block.offsets.push_back(block.edges());
        }
        block.sources = static_cast<std::uint32_t>(batch.vertices.size());
    }
    return batch;
}

/// Rows by index on all threads, fetched ahead.
void gather(const Array<float>& table, const sample::Batch& batch, Array<float>& rows) {
    parallel_chunks(batch.vertices.size(), 1024, [&](const Chunk& chunk) {
        for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
            const std::size_t later = std::min(i + 8, batch.vertices.size() - 1);
            for (std::size_t c = 0; c < features; c += 16)
                __builtin_prefetch(table.data() + batch.vertices[later] * features + c);
            std::memcpy(rows.data() + i * features, table.data() + batch.vertices[i] * features,
                        features * sizeof(float));
        }
    });
}

/// The products of one layer, in the chunks the layer has.
struct Products {
    std::size_t rows, in, out;
    bool below;  ///< has a gradient of its inputs
    Array<float> x = Array<float>::zeroed(rows * nn::aligned_columns(in));
    Array<float> w = Array<float>::zeroed(out * nn::aligned_columns(in));
    Array<float> y = Array<float>::zeroed(rows * nn::aligned_columns(out));
    nn::Lanes lanes{rows};
    Array<float> sums = Array<float>::zeroed(nn::LaneSums::floats(lanes, out, in));

    void run() {
        const nn::Matrix xs{x.data(), rows, in, nn::aligned_columns(in)};
        const nn::Matrix ws{w.data(), out, in, nn::aligned_columns(in)};
        const nn::Matrix ys{y.data(), rows, out, nn::aligned_columns(out)};
        parallel_chunks(rows, nn::chunk_rows, [&](const Chunk& c) {
            nn::multiply_transposed(xs.part(c.begin, c.end - c.begin), ws,
                                    ys.part(c.begin, c.end - c.begin));
        });
        parallel_chunks(rows, lanes.size, [&](const Chunk& lane) {
            const nn::Matrix sum{sums.data() + lane.index * out * nn::aligned_columns(in), out, in,
                                 nn::aligned_columns(in)};
            for (std::size_t first = lane.begin; first < lane.end; first += nn::chunk_rows) {
                const std::size_t count = std::min(nn::chunk_rows, lane.end - first);
                nn::multiply_first_transposed(
                    ys.part(first, count), xs.part(first, count), sum,
                    first == lane.begin ? nn::Accumulate::no : nn::Accumulate::yes);
                if (below) nn::multiply(ys.part(first, count), ws, xs.part(first, count));
            }
        });
    }
};

struct Moved {
    double all = 0;
    double needed = 0;
};

Moved bytes_moved(const sample::Batch& batch) {
    Moved moved;
    const auto floats = [](std::size_t rows, std::size_t columns) {
        return static_cast<double>(rows * columns * sizeof(float));
    };
    const double gathered = 2 * floats(batch.vertices.size(), features);
    moved = {gathered, gathered};
    const std::size_t in[]{features, hidden};
    const std::size_t out[]{hidden, classes};
    for (std::size_t l = 0; l < 2; ++l) {
        const sample::Block& block = batch.blocks[l];
        const double edge_rows = floats(block.edges() + block.destinations, in[l]);
        const double joined = floats(block.destinations, 2 * in[l]);
        const double result = floats(block.destinations, out[l]);
        moved.all += edge_rows + 3 * joined + 5 * result;
        moved.needed += edge_rows + 2 * joined + 2 * result;
        if (l == 0) continue;
        const double back = floats(block.edges() + block.destinations, in[l]);
        const double below = 2 * floats(block.sources, in[l]);
        moved.all += 2 * joined + back + below;
        moved.needed += joined + back + below;
    }
    return moved;
}

/// Nanoseconds of CPU time per element of bias, rectifier and dropout, one thread, in the cache:
/// the best of many, since it is a part of the step and not a side of the comparison.
double dropout_cost() {
    constexpr std::size_t rows = nn::chunk_rows;
    const auto now = [] {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
    };
    const nn::Dropout dropout({Purpose::dropout, 1, 0, 0, 1}, 0.5);
    const std::vector<float> bias(hidden, 0.1F);
    std::vector<VertexId> vertices(rows);
    std::iota(vertices.begin(), vertices.end(), VertexId{100});
    auto values = Array<float>::zeroed(rows * hidden);
    double best = 1e18;
    for (int round = 0; round < 200; ++round) {
        const double start = now();
        nn::bias_rectify_drop({values.data(), rows, hidden, hidden}, bias, dropout, vertices);
        best = std::min(best, now() - start);
    }
    return best / static_cast<double>(rows * hidden);
}

}  // namespace

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    set_thread_count(threads);
    const sample::Batch batch = make_batch();
    auto table = Array<float>::copy_of(testing::random_floats(graph_vertices * features, 1));
    auto rows = Array<float>::uninitialised(batch.vertices.size() * features);
    std::vector<std::int32_t> labels;
    for (std::uint32_t s = 0; s < batch.seeds; ++s)
        labels.push_back(static_cast<std::int32_t>(batch.vertices[s] % classes));
    nn::NetworkOptions options;
    options.inputs = features;
    options.hidden = hidden;
    options.outputs = classes;
    const auto network = nn::make_network(options);
    const auto adam = nn::make_optimiser({}, network->parameters());
    auto gradient = Array<float>::zeroed(network->weights().size());
    nn::SeedTargets targets;
    targets.classes = labels;
    const auto train = [&] {
        network->train(batch, rows.span(), targets, 1.F / 2000, gradient.span(),
                       [](std::size_t) {});
    };
    Products first{batch.blocks[0].destinations, 2 * features, hidden, false};
    Products second{batch.seeds, 2 * hidden, classes, true};
    constexpr std::size_t copied = std::size_t{32} << 20;  // floats
    const auto from = Array<float>::zeroed(copied);
    auto to = Array<float>::zeroed(copied);
    std::vector<bench::Side> sides{
        {"step",
         [&] {
             gather(table, batch, rows);
             train();
             adam->step(network->weights(), gradient.span(), 0.003);
         }},
        {"products",
         [&] {
             first.run();
             second.run();
         }},
        {"copy",
         [&] {
             parallel_chunks(copied, 1U << 18, [&](const Chunk& c) {
                 std::memcpy(to.data() + c.begin, from.data() + c.begin,
                             (c.end - c.begin) * sizeof(float));
             });
         }},
        {"gather", [&] { gather(table, batch, rows); }},
        {"train", train},
        {"adam", [&] { adam->step(network->weights(), gradient.span(), 0.003); }}};
    bench::measure(sides, 15);
    const double speed = 2.0 * copied * sizeof(float) / (sides[2].milliseconds * 1e6);
    const Moved moved = bytes_moved(batch);
    std::printf("%d threads; %zu input rows, %u + %u edges, %u + %u destinations\n", threads,
                batch.vertices.size(), batch.blocks[0].edges(), batch.blocks[1].edges(),
                batch.blocks[0].destinations, batch.blocks[1].destinations);
    for (const bench::Side& side : sides)
        std::printf("%-10s %8.2f ms\n", side.name.c_str(), side.milliseconds);
    std::printf("copy speed %.1f GB/s; bytes needed %.0f MB, all %.0f MB\n", speed,
                moved.needed / 1e6, moved.all / 1e6);
    std::printf("bias, rectifier and dropout: %.3f ns of CPU per element\n", dropout_cost());
    for (const auto& [name, bytes] : {std::pair{"needed", moved.needed}, {"all", moved.all}})
        std::printf("step / (products + bytes %s at copy speed): %.3f\n", name,
                    sides[0].milliseconds / (sides[1].milliseconds + bytes / speed / 1e6));
    return 0;
}
