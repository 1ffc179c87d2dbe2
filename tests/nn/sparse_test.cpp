// Networks on sparse rows: against the slow reference, against themselves on dense rows, and with
// the same bits on every path and any threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "nn/network_case.hpp"
#include "nn/paths.hpp"
#include "nn/sparse_input.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder {

using namespace testing;

namespace {

constexpr std::array models{"sage", "gcn", "gat", "gatv2"};

/// Dense rows and the same as their non-zeros, in as much memory as the largest row takes.
struct BothRows {
    std::vector<float> dense;
    std::vector<SparseEntry> entries;
    std::size_t stride = 0;
    nn::SparseInputs inputs;

    BothRows(std::vector<float> rows, std::size_t columns) : dense(std::move(rows)) {
        std::size_t total = 0;
        for (std::size_t r = 0; r < dense.size() / columns; ++r) {
            const auto row = std::span(dense).subspan(r * columns, columns);
            const auto zeroes = static_cast<std::size_t>(std::ranges::count(row, 0.F));
            inputs.largest = std::max<std::uint64_t>(inputs.largest, columns - zeroes);
            total += columns - zeroes;
        }
        inputs.mean = static_cast<double>(total * columns) / static_cast<double>(dense.size());
        stride = 1 + inputs.largest;
        // What is beyond a row's end must not be read.
        entries.assign(dense.size() / columns * stride, {1'000'000'000, NAN});
        for (std::size_t r = 0; r < dense.size() / columns; ++r) {
            SparseEntry* row = entries.data() + r * stride;
            row[0] = {0, 0};
            for (std::size_t c = 0; c < columns; ++c) {
                if (const float value = dense[r * columns + c]; value != 0)
                    row[++row[0].column] = {static_cast<std::uint32_t>(c), value};
            }
        }
    }
    /// The first rows; all: 0.
    [[nodiscard]] nn::InputRows sparse(std::size_t rows = 0) const {
        const std::size_t count = rows == 0 ? entries.size() : rows * stride;
        return nn::InputRows::sparse({reinterpret_cast<const float*>(entries.data()), 2 * count},
                                     2 * stride);
    }
};

/// Rows of which one element in `one_in` is not zero; the third is empty, the fifth full.
std::vector<float> thin_rows(std::size_t rows, std::size_t columns, std::uint64_t one_in,
                             std::uint64_t seed) {
    std::vector<float> values = random_floats(rows * columns, seed);
    std::mt19937_64 random(seed + 5);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t row = i / columns;
        const bool stays = row == 4 || (row != 2 && random() % one_in == 0);
        if (!stays) values[i] = 0;
    }
    return values;
}

/// A case with thin rows, whose `rows` are the dense ones.
struct SparseCase {
    Case dense;
    BothRows rows;

    SparseCase(const nn::NetworkOptions& options, const BatchShape& shape, std::uint64_t one_in = 7)
        : dense(options, shape),
          rows(thin_rows(dense.batch.vertices.size(), options.inputs, one_in, shape.seed + 1),
               options.inputs) {
        dense.rows = rows.dense;
    }
    [[nodiscard]] nn::NetworkOptions sparse_options() const {
        nn::NetworkOptions options = dense.options;
        options.sparse = rows.inputs;
        return options;
    }
    [[nodiscard]] Outcome train(nn::Network& network, float weight) const {
        Outcome outcome;
        outcome.gradient.assign(network.weights().size(), NAN);
        outcome.result =
            network.train(dense.batch, rows.sparse(), dense.targets(), weight, outcome.gradient,
                          [&](std::size_t b) { outcome.ready.push_back(b); });
        return outcome;
    }
    [[nodiscard]] std::vector<float> predict(nn::Network& network) const {
        std::vector<float> scores(dense.batch.seeds * dense.options.outputs, NAN);
        network.predict(dense.batch, rows.sparse(), scores);
        return scores;
    }
};

void compare_sparse(const SparseCase& c) {
    const auto network = nn::make_network(c.sparse_options());
    const Case& d = c.dense;
    const float weight = 1.F / static_cast<float>(std::max(1U, d.batch.seeds));
    // Twice: the memory of a pass is used again, and a prediction comes between.
    static_cast<void>(c.train(*network, weight));
    const std::vector<float> scores = c.predict(*network);
    const Outcome ours = c.train(*network, weight);
    const auto theirs = reference_network(d.options, network->parameters(), network->weights(),
                                          d.batch, d.rows, d.targets(), weight);
    EXPECT_NEAR(static_cast<double>(ours.result.loss), theirs.loss,
                1e-5 * std::max(1.0, std::fabs(theirs.loss)));
    expect_near(ours.gradient, theirs.gradient, 1e-5);
    EXPECT_EQ(ours.ready.size(), network->buckets().size());
    const auto plain = reference_network(d.options, network->parameters(), network->weights(),
                                         d.batch, d.rows, d.targets(), weight, true);
    expect_near(scores, plain.scores, 1e-5);
}

nn::NetworkOptions options_of(const char* model, std::uint64_t inputs, std::uint64_t hidden) {
    nn::NetworkOptions options = small(nn::Objective::classes, inputs, hidden, 5);
    options.model = model;
    return options;
}

TEST(SparseNetworks, AreTheReference) {
    for (const char* model : models) {
        for (const std::uint64_t inputs : {9U, 64U, 131U}) {
            for (const std::uint64_t hidden : {8U, 20U, 64U}) {
                SCOPED_TRACE(fmt::format("{}, {} inputs, {} hidden", model, inputs, hidden));
                compare_sparse({options_of(model, inputs, hidden), {.seeds = 40, .seed = inputs}});
            }
        }
    }
}

TEST(SparseNetworks, WithNormsResidualsAndDropoutOfTheInput) {
    for (const char* model : models) {
        for (const char* norm : {"none", "batch", "layer"}) {
            for (const bool residual : {false, true}) {
                SCOPED_TRACE(fmt::format("{}, norm {}, residual {}", model, norm, residual));
                // As many columns as hidden ones, too: such a residual has no map.
                for (const std::uint64_t inputs : {40U, 16U}) {
                    nn::NetworkOptions options = options_of(model, inputs, 16);
                    options.norm = norm;
                    options.residual = residual;
                    options.input_dropout = inputs == 40 ? 0.4 : 0;
                    compare_sparse({options, {.seeds = 30, .seed = 3}});
                }
            }
        }
    }
}

TEST(SparseNetworks, OfOneLayerAndOfThree) {
    for (const char* model : models) {
        SCOPED_TRACE(model);
        compare_sparse({options_of(model, 50, 16), {.seeds = 30, .fanouts = {5}, .seed = 6}});
        compare_sparse({options_of(model, 50, 16), {.seeds = 12, .fanouts = {2, 3, 3}, .seed = 7}});
    }
}

/// Many lanes and chunks.
TEST(SparseNetworks, OfManyRows) {
    for (const char* model : {"sage", "gatv2"}) {
        SCOPED_TRACE(model);
        compare_sparse({options_of(model, 70, 32),
                        {.seeds = 300, .fanouts = {4, 5}, .new_sources_per_edge = 60, .seed = 8},
                        20});
    }
}

TEST(SparseNetworks, RowsThatAreAllEmpty) {
    for (const char* model : models) {
        SCOPED_TRACE(model);
        SparseCase c(options_of(model, 30, 16), {.seeds = 10, .seed = 2});
        const std::vector<float> zeroes(c.dense.rows.size(), 0.F);
        c.rows = BothRows(zeroes, 30);
        c.dense.rows = zeroes;
        EXPECT_EQ(c.rows.stride, 1U);
        compare_sparse(c);
    }
}

TEST(SparseNetworks, TheSameBitsOnEveryPathAndAnyThreads) {
    const Restore restore;
    for (const char* model : models) {
        SCOPED_TRACE(model);
        nn::NetworkOptions options = options_of(model, 90, 24);
        options.input_dropout = 0.2;
        const SparseCase c(
            options, {.seeds = 200, .fanouts = {4, 5}, .new_sources_per_edge = 70, .seed = 4}, 15);
        std::vector<float> first;
        for (const int threads : {1, 2, 3}) {
            const std::vector<float> gradient = on_all_paths([&] {
                set_thread_count(threads);
                const auto network = nn::make_network(c.sparse_options());
                std::vector<float> all = c.train(*network, 0.01F).gradient;
                const std::vector<float> scores = c.predict(*network);
                all.insert(all.end(), scores.begin(), scores.end());
                return all;
            });
            if (first.empty()) first = gradient;
            EXPECT_EQ(std::memcmp(first.data(), gradient.data(), first.size() * sizeof(float)), 0);
        }
    }
}

/// Layer by layer, from rows as they are or from what was made of them, in any tiles.
TEST(SparseNetworks, InferenceInOneStepAndInTwo) {
    for (const char* model : models) {
        for (const std::uint64_t outputs : {5U, 16U, 48U}) {
            SCOPED_TRACE(fmt::format("{}, {} outputs", model, outputs));
            nn::NetworkOptions options = small(nn::Objective::regression, 16, 8, outputs);
            options.model = model;
            const SparseCase c(options, {.seeds = 60, .fanouts = {4}, .seed = 9}, 3);
            const auto dense = nn::make_network(c.dense.options);
            const auto sparse = nn::make_network(c.sparse_options());
            const sample::Block& block = c.dense.batch.blocks.front();
            std::vector<std::uint32_t> degrees;
            if (sparse->wants_degrees())
                degrees.assign(c.dense.batch.degrees.begin(), c.dense.batch.degrees.end());
            std::vector<float> expected(block.destinations * outputs);
            dense->infer_layer(0, block, degrees, c.rows.dense, expected);
            std::vector<float> direct(expected.size(), NAN);
            sparse->infer_layer(0, block, degrees, c.rows.sparse(), direct);
            expect_near(direct, expected, 1e-5);
            EXPECT_FALSE(sparse->sums_rows(0));
            const std::size_t reads = sparse->layer_reads(0);
            std::vector<float> mapped;
            if (sparse->maps_rows(0)) {
                mapped.assign(block.sources * reads, NAN);
                sparse->map_rows(0, c.rows.sparse(), mapped);
            }
            std::vector<float> out(expected.size(), NAN);
            sparse->infer_rows(0, block,
                               {.sources = mapped.empty() ? c.rows.sparse() : nn::InputRows(mapped),
                                .own = c.rows.sparse(block.destinations),
                                .degrees = degrees},
                               out);
            expect_near(out, expected, 1e-5);
            // Predictions of one layer are the same sums.
            EXPECT_EQ(c.predict(*sparse),
                      std::vector<float>(out.begin(),
                                         out.begin() + static_cast<std::ptrdiff_t>(60 * outputs)));
        }
    }
}

TEST(SparseNetworks, PlansOfMemoryKnowTheRows) {
    const auto bytes = [](std::uint64_t inputs, bool sparse) {
        const SparseCase c(options_of("sage", inputs, 16), {.seeds = 100, .seed = 1}, 50);
        const auto network = nn::make_network(sparse ? c.sparse_options() : c.dense.options);
        return network->activation_bytes(c.dense.batch);
    };
    EXPECT_LT(3 * bytes(2000, true), bytes(2000, false));
}

// ---- kernels -----------------------------------------------------------------------------------

TEST(SparseProducts, KnownNumbers) {
    // Rows (2, 0, 3) and nothing; weights 2 x 3.
    const std::vector<SparseEntry> entries{{2, 0}, {0, 2}, {2, 3}, {0, 0}, {9, 9}, {9, 9}};
    const nn::SparseMatrix rows{entries.data(), 2, 3, 3};
    const std::vector<float> weights{1, 2, 3, 10, 20, 30};
    std::vector<float> turned(3 * 2);
    nn::transpose_weights({weights.data(), 2, 3, 3}, {}, {turned.data(), 3, 2, 2});
    EXPECT_EQ(turned, (std::vector<float>{1, 10, 2, 20, 3, 30}));
    std::vector<float> out(4, NAN);
    nn::multiply_sparse(rows, {turned.data(), 3, 2, 2}, {out.data(), 2, 2, 2});
    EXPECT_EQ(out, (std::vector<float>{11, 110, 0, 0}));
    nn::SparseColumns columns;
    columns.fill(rows);
    const std::vector<float> gradient{1, 5, 7, 11};
    std::vector<float> back(6, NAN);
    columns.weight_gradient({gradient.data(), 2, 2, 2}, {}, back.data());
    EXPECT_EQ(back, (std::vector<float>{2, 0, 3, 10, 0, 15}));
}

/// Groups of 3 outputs, filled up to 4.
TEST(SparseProducts, GroupsAreFilledUpAndEmptied) {
    const std::size_t inputs = 150;
    const std::vector<float> weights = random_floats(6 * inputs, 1);
    std::vector<float> turned(inputs * 8, NAN);
    nn::transpose_weights({weights.data(), 6, inputs, inputs}, {3, 4},
                          {turned.data(), inputs, 8, 8});
    for (std::size_t c = 0; c < inputs; ++c) {
        for (std::size_t o = 0; o < 8; ++o) {
            const float wanted = o % 4 == 3 ? 0 : weights[(o / 4 * 3 + o % 4) * inputs + c];
            ASSERT_EQ(turned[c * 8 + o], wanted) << c << " " << o;
        }
    }
    const BothRows rows(thin_rows(40, inputs, 9, 2), inputs);
    nn::SparseColumns columns;
    columns.fill(rows.sparse().sparse(inputs));
    const std::vector<float> gradient = random_floats(25 * 8, 3);  // of the first 25 rows
    std::vector<float> back(6 * inputs, NAN);
    columns.weight_gradient({gradient.data(), 25, 8, 8}, {3, 4}, back.data());
    for (std::size_t o = 0; o < 6; ++o) {
        for (std::size_t c = 0; c < inputs; ++c) {
            double sum = 0;
            for (std::size_t r = 0; r < 25; ++r) {
                sum += static_cast<double>(rows.dense[r * inputs + c]) *
                       static_cast<double>(gradient[r * 8 + o / 3 * 4 + o % 3]);
            }
            ASSERT_NEAR(static_cast<double>(back[o * inputs + c]), sum, 1e-5);
        }
    }
}

TEST(SparseProducts, DropoutIsThatOfDenseRows) {
    const std::size_t inputs = 300;
    const BothRows rows(thin_rows(20, inputs, 4, 5), inputs);
    std::vector<VertexId> vertices(20);
    std::iota(vertices.begin(), vertices.end(), VertexId{1000});
    const nn::Dropout dropout({.purpose = Purpose::dropout, .seed = 3}, 0.4);
    std::vector<float> dense(rows.dense.size());
    nn::drop({rows.dense.data(), 20, inputs, inputs}, dropout, vertices,
             {dense.data(), 20, inputs, inputs});
    std::vector<SparseEntry> left(rows.entries.size());
    nn::drop_sparse(rows.sparse().sparse(inputs), dropout, vertices, left.data());
    std::vector<float> back(dense.size());
    nn::add_sparse({back.data(), 20, inputs, inputs}, {left.data(), 20, inputs, rows.stride});
    EXPECT_EQ(back, dense);
}

}  // namespace
}  // namespace rudder
