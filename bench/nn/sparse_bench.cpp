// One training pass on sparse rows (8,415 columns, 33 non-zeros each, hidden 256) against the same
// on dense rows: GraphSAGE, GCN, GAT. Sides in turns, medians of 5.
#include <cstdio>
#include <random>

#include "nn/random_batch.hpp"
#include "rudder/core/array.hpp"
#include "rudder/nn/network.hpp"

#include "timing.hpp"

namespace {

using namespace rudder;

constexpr std::size_t columns = 8415;
constexpr std::size_t non_zeros = 33;
constexpr std::size_t stride = 1 + non_zeros;

/// The same rows both ways.
struct BenchRows {
    Array<float> dense;
    Array<SparseEntry> sparse;

    explicit BenchRows(std::size_t rows)
        : dense(Array<float>::zeroed(rows * columns)),
          sparse(Array<SparseEntry>::uninitialised(rows * stride)) {
        std::mt19937_64 random(3);
        for (std::size_t r = 0; r < rows; ++r) {
            sparse[r * stride] = {non_zeros, 0};
            for (std::size_t i = 0; i < non_zeros; ++i) {
                const std::size_t share = columns / non_zeros;
                const std::size_t column = i * share + random() % share;
                sparse[r * stride + 1 + i] = {static_cast<std::uint32_t>(column), 1};
                dense[r * columns + column] = 1;
            }
        }
    }
};

void compare(const char* model) {
    const sample::Batch batch = testing::random_batch(
        {.seeds = 500, .fanouts = {5, 5}, .new_sources_per_edge = 50, .seed = 1});
    const BenchRows rows(batch.vertices.size());
    nn::NetworkOptions options;
    options.model = model;
    options.inputs = columns;
    options.outputs = 5;
    const auto dense = nn::make_network(options);
    options.sparse = nn::SparseInputs{.largest = non_zeros, .mean = non_zeros};
    const auto sparse = nn::make_network(options);
    const std::vector<std::int32_t> classes(batch.seeds, 1);
    std::vector<float> gradient(dense->weights().size());
    const auto entries = nn::InputRows::sparse(
        {reinterpret_cast<const float*>(rows.sparse.data()), 2 * rows.sparse.size()}, 2 * stride);
    const auto pass = [&](nn::Network& network, const nn::InputRows& input) {
        network.train(batch, input, {.classes = classes, .multilabel = {}, .regression = {}}, 0.01F,
                      gradient, [](std::size_t) {});
    };
    std::vector<bench::Side> sides{{"dense", [&] { pass(*dense, rows.dense.span()); }},
                                   {"sparse", [&] { pass(*sparse, entries); }}};
    bench::measure(sides, 5);
    std::printf("%-6s %6zu rows: dense %8.2f ms, sparse %8.2f ms, %.3f\n", model,
                batch.vertices.size(), sides[0].milliseconds, sides[1].milliseconds,
                sides[1].milliseconds / sides[0].milliseconds);
}

}  // namespace

int main() {
    for (const char* model : {"sage", "gcn", "gat"})
        compare(model);
}
