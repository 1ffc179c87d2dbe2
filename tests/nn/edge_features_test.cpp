// Networks that read the features of edges, against their definition in doubles: scores, gradients
// by differences, layer by layer, sparse rows, the same bits for any number of threads.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "nn/definition.hpp"
#include "nn/network_case.hpp"
#include "nn/paths.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/model_registry.hpp"

namespace rudder::testing {
namespace {

/// The definition, element by element.
class SlowEdges final : public Definition {
public:
    using Definition::Definition;

private:
    [[nodiscard]] Doubles layer(const Layer& here) const override {
        Doubles result;
        for (std::size_t d = 0; d < given().batch.blocks[here.l].destinations; ++d) {
            const Doubles row =
                given().options.model == "sage" ? sage_row(here, d) : attention_row(here, d);
            result.insert(result.end(), row.begin(), row.end());
        }
        return result;
    }
    [[nodiscard]] double at(const Layer& layer, const char* name, std::size_t i) const {
        return Definition::at(layer.weights, fmt::format("layers.{}.{}", layer.l, name), i);
    }
    /// Row `o` of a map of `columns` times some numbers.
    template <class Values>
    [[nodiscard]] double mapped(const Layer& layer, const char* name, std::size_t o,
                                std::size_t columns, const Values* values) const {
        double sum = 0;
        for (std::size_t i = 0; i < columns; ++i)
            sum += at(layer, name, o * columns + i) * static_cast<double>(values[i]);
        return sum;
    }
    [[nodiscard]] const float* edge(const sample::Block& block, std::size_t e) const {
        return block.features.data() + e * given().options.edge_inputs;
    }
    [[nodiscard]] Doubles mean_of_edges(const sample::Block& block, std::size_t d) const {
        Doubles mean(given().options.edge_inputs, 0);
        const double count = block.offsets[d + 1] - block.offsets[d];
        for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
            const double share =
                block.shares.empty() ? 1 / count : static_cast<double>(block.shares[e]);
            for (std::size_t c = 0; c < mean.size(); ++c)
                mean[c] += share * static_cast<double>(edge(block, e)[c]);
        }
        return mean;
    }

    [[nodiscard]] Doubles sage_row(const Layer& layer, std::size_t d) const {
        const sample::Block& block = given().batch.blocks[layer.l];
        const double count = block.offsets[d + 1] - block.offsets[d];
        const Doubles edges = mean_of_edges(block, d);
        Doubles row;
        for (std::size_t o = 0; o < layer.out; ++o) {
            double sum = at(layer, "neigh.bias", o) +
                         mapped(layer, "self.weight", o, layer.in, &layer.input[d * layer.in]) +
                         mapped(layer, "edge.weight", o, edges.size(), edges.data());
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
                const double share =
                    block.shares.empty() ? 1 / count : static_cast<double>(block.shares[e]);
                sum += share * mapped(layer, "neigh.weight", o, layer.in,
                                      &layer.input[block.neighbours[e] * layer.in]);
            }
            row.push_back(layer.last ? sum : std::max(0., sum));
        }
        return row;
    }

    /// What of one head's column the score of an entry is the sum of, or its weighted sum.
    [[nodiscard]] double score(const Layer& layer, std::size_t d, std::size_t source,
                               const Doubles& features, std::size_t hc) const {
        const double* const theirs = &layer.input[source * layer.in];
        const double* const own = &layer.input[d * layer.in];
        const double edge = mapped(layer, "edge.weight", hc, features.size(), features.data());
        if (given().options.model == "gat") {
            return at(layer, "att_src", hc) * mapped(layer, "weight", hc, layer.in, theirs) +
                   at(layer, "att_dst", hc) * mapped(layer, "weight", hc, layer.in, own) +
                   at(layer, "att_edge", hc) * edge;
        }
        const double x =
            mapped(layer, "left.weight", hc, layer.in, theirs) + at(layer, "left.bias", hc) +
            mapped(layer, "right.weight", hc, layer.in, own) + at(layer, "right.bias", hc) + edge;
        return at(layer, "att", hc) * (x > 0 ? x : 0.2 * x);
    }
    [[nodiscard]] double value(const Layer& layer, std::size_t source, std::size_t hc) const {
        const double* const row = &layer.input[source * layer.in];
        if (given().options.model == "gat") return mapped(layer, "weight", hc, layer.in, row);
        return mapped(layer, "left.weight", hc, layer.in, row) + at(layer, "left.bias", hc);
    }
    [[nodiscard]] Doubles attention_row(const Layer& layer, std::size_t d) const {
        const sample::Block& block = given().batch.blocks[layer.l];
        const std::size_t heads = given().options.heads;
        const std::size_t columns = layer.last ? layer.out : layer.out / heads;
        std::vector<std::size_t> sources{d};
        std::vector<Doubles> features{mean_of_edges(block, d)};
        for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
            sources.push_back(block.neighbours[e]);
            features.emplace_back(edge(block, e), edge(block, e) + given().options.edge_inputs);
        }
        Doubles row(layer.out, 0);
        for (std::size_t h = 0; h < heads; ++h) {
            Doubles weights;
            double norm = 0;
            for (std::size_t i = 0; i < sources.size(); ++i) {
                double sum = 0;
                for (std::size_t c = 0; c < columns; ++c)
                    sum += score(layer, d, sources[i], features[i], h * columns + c);
                if (given().options.model == "gat") sum = sum > 0 ? sum : 0.2 * sum;
                weights.push_back(std::exp(sum));
                norm += weights.back();
            }
            for (std::size_t i = 0; i < sources.size(); ++i) {
                for (std::size_t c = 0; c < columns; ++c) {
                    row[layer.last ? c : h * columns + c] +=
                        weights[i] / norm * value(layer, sources[i], h * columns + c) /
                        (layer.last ? static_cast<double>(heads) : 1);
                }
            }
        }
        for (std::size_t o = 0; o < layer.out; ++o) {
            row[o] += at(layer, "bias", o);
            if (!layer.last && row[o] < 0) row[o] = std::expm1(row[o]);
        }
        return row;
    }
};

struct Shape {
    std::uint32_t seeds = 12;
    bool shares = false;
    std::uint64_t columns = 3;
    std::uint64_t hidden = 6;
};

Case edge_case(const std::string& model, std::uint64_t seed, const Shape& shape) {
    nn::NetworkOptions options = small(nn::Objective::classes, 5, shape.hidden, 4);
    options.model = model;
    options.dropout = 0;
    options.heads = 2;
    options.edge_inputs = shape.columns;
    Case c(options, {.seeds = shape.seeds, .fanouts = {3, 4}, .seed = seed});
    c.batch.degrees.clear();
    for (std::size_t l = 0; l < c.batch.blocks.size(); ++l) {
        sample::Block& block = c.batch.blocks[l];
        const auto values = random_floats(block.edges() * shape.columns, seed + 20 + l);
        block.features.assign(values.begin(), values.end());
        if (!shape.shares) continue;
        const auto shares = random_floats(block.edges(), seed + 30 + l);
        block.shares.assign(shares.begin(), shares.end());
    }
    for (std::int32_t& label : c.classes)
        label = std::max(label, 0);
    return c;
}

/// Biases begin at zero, where their part in sums would not show.
void stir(nn::Network& network) {
    const auto more = random_floats(network.weights().size(), 77, 0.2F);
    for (std::size_t i = 0; i < more.size(); ++i)
        network.weights()[i] += more[i];
}

class EdgeFeatures : public ::testing::TestWithParam<const char*> {
protected:
    [[nodiscard]] static std::vector<bool> with_shares() {
        return may_be_weighted(GetParam()) ? std::vector{false, true} : std::vector{false};
    }
};
INSTANTIATE_TEST_SUITE_P(Models, EdgeFeatures, ::testing::Values("sage", "gat", "gatv2"),
                         [](const auto& model) { return std::string(model.param); });

TEST_P(EdgeFeatures, ScoresAreTheDefinitions) {
    for (const bool shares : with_shares()) {
        for (const std::uint64_t columns : {1U, 3U, 20U}) {
            const Case c = edge_case(GetParam(), 3, {.shares = shares, .columns = columns});
            const auto network = nn::make_network(c.options);
            stir(*network);
            expect_defined_scores(*network, c, SlowEdges(c, *network), 2e-5);
        }
    }
}

TEST_P(EdgeFeatures, GradientsAreThoseOfDifferences) {
    for (const bool shares : with_shares()) {
        for (const std::uint64_t seed : {1U, 2U}) {
            const Case c = edge_case(GetParam(), seed, {.seeds = 4, .shares = shares});
            const auto network = nn::make_network(c.options);
            stir(*network);
            expect_defined_gradient(*network, c, SlowEdges(c, *network));
        }
    }
}

/// Features of edges change no gradient of a row but through what they add to.
TEST_P(EdgeFeatures, GradientsOfRowsAreThoseOfDifferences) {
    for (const bool shares : with_shares()) {
        Case c = edge_case(GetParam(), 2, {.seeds = 4, .shares = shares});
        c.options.row_gradients = true;
        const auto network = nn::make_network(c.options);
        stir(*network);
        expect_defined_row_gradients(*network, c, SlowEdges(c, *network));
    }
}

/// Many chunks and lanes, so that sums are divided; heads of several vectors.
TEST_P(EdgeFeatures, TheSameBitsForAnyThreadsAndPath) {
    const auto run = [&] {
        Case c = edge_case(GetParam(), 5, {.seeds = 400, .columns = 18, .hidden = 80});
        c.options.dropout = 0.5;
        const auto network = nn::make_network(c.options);
        stir(*network);
        return train_once(*network, c, 0.001F).gradient;
    };
    set_thread_count(1);
    const auto one = on_all_paths(run);
    set_thread_count(3);
    const auto three = run();
    set_thread_count(0);
    EXPECT_EQ(one, three);
}

TEST_P(EdgeFeatures, LayerByLayerIsTheSame) {
    const Case c = edge_case(GetParam(), 7, {.seeds = 400});
    const auto network = nn::make_network(c.options);
    expect_same_layer_by_layer(*network, c);
    for (std::size_t l = 0; l < network->layers(); ++l)
        EXPECT_FALSE(network->sums_rows(l));  // kept sums know nothing of edges
}

/// Rows that come as their non-zeros alone.
TEST_P(EdgeFeatures, SparseRowsGiveTheSame) {
    Case c = edge_case(GetParam(), 9, {.seeds = 60});
    for (std::size_t i = 0; i < c.rows.size(); ++i)
        if (i % 5 != 2 && i % 5 != 4) c.rows[i] = 0;
    const auto dense = nn::make_network(c.options);
    const Outcome expected = train_once(*dense, c, 0.1F);
    constexpr std::size_t columns = 5;
    constexpr std::size_t row_floats = 2 + 2 * 2;
    std::vector<float> memory(c.rows.size() / columns * row_floats);
    auto* entries = reinterpret_cast<SparseEntry*>(memory.data());
    for (std::size_t r = 0; r < c.rows.size() / columns; ++r, entries += 3) {
        entries[0] = {2, 0};
        entries[1] = {2, c.rows[r * columns + 2]};
        entries[2] = {4, c.rows[r * columns + 4]};
    }
    c.options.sparse = nn::SparseInputs{.largest = 2, .mean = 2};
    const auto sparse = nn::make_network(c.options);
    std::vector<float> gradient(sparse->weights().size());
    const nn::BatchResult result = sparse->train(c.batch, nn::InputRows::sparse(memory, row_floats),
                                                 c.targets(), 0.1F, gradient, [](std::size_t) {});
    EXPECT_NEAR(result.loss, expected.result.loss, 1e-4);
    expect_near(gradient, expected.gradient, 1e-5);
}

/// Other features, other answers; without the option they are not looked at.
TEST_P(EdgeFeatures, CountOnlyWhereTheyAreAskedFor) {
    Case c = edge_case(GetParam(), 11, {});
    const auto answers = [&] {
        const auto network = nn::make_network(c.options);
        return predicted(*network, c);
    };
    const auto before = answers();
    c.options.edge_inputs = 0;
    const auto without = answers();
    for (float& value : c.batch.blocks[1].features)
        value += 1;
    EXPECT_EQ(answers(), without);
    c.options.edge_inputs = 3;
    EXPECT_NE(answers(), before);
}

TEST(EdgeModels, ThoseThatReadThem) {
    EXPECT_EQ(nn::edge_models(), (std::vector<std::string_view>{"sage", "gat", "gatv2"}));
    nn::NetworkOptions options = small(nn::Objective::classes, 5, 6, 4);
    options.edge_inputs = 2;
    options.model = "gcn";
    EXPECT_THROW(static_cast<void>(nn::make_network(options)), InternalError);
}

}  // namespace
}  // namespace rudder::testing
