// The neural classifiers: gradients by finite differences, and that their arrays answer alike.
#include "rudder/nn/tabular.hpp"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "rudder/steer/classifier.hpp"

#include "tabular_networks.hpp"

namespace rudder::test {
namespace {

/// Rows whose label is an exclusive or of two columns.
struct Rows {
    std::size_t columns;
    std::vector<float> x;
    std::vector<std::uint8_t> y;
    std::vector<float> weight;

    Rows(std::size_t count, std::size_t width, std::uint64_t seed) : columns(width) {
        const RandomStream stream({.purpose = Purpose::test, .seed = seed});
        Draws draws(stream, 0);
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t c = 0; c < width; ++c)
                x.push_back(static_cast<float>(draws.normal()));
            const float* row = x.data() + i * width;
            y.push_back((row[0] > 0) != (row[1] > 0) ? 1 : 0);
            weight.push_back(1 + static_cast<float>(i % 3));
        }
    }
    [[nodiscard]] TabularData view() const { return {columns, x, y, weight}; }
};

/// Compares the tape's gradient along random directions with differences of the loss.
template <class Network>
void expect_gradient(Network& network, const Rows& rows) {
    const RandomStream stream({.purpose = Purpose::test, .seed = 5});
    const auto norms = network.norms;
    // Dropout must drop the same each time.
    const auto loss = [&](bool back) {
        network.norms = norms;
        Draws draws(stream, 99);
        Tape tape(network.weights, true);
        const double value = network.pass(tape, rows.view(), draws).loss;
        if (back) tape.backward();
        return value;
    };
    std::ranges::fill(network.weights.gradient, 0.0F);
    loss(true);
    const std::vector<float> gradient = network.weights.gradient;
    const std::vector<float> start = network.weights.values;
    for (const Parameter& parameter : network.weights.list) {
        Draws draws(stream, parameter.offset);
        double along = 0;
        double norm = 0;
        std::vector<double> direction(parameter.size);
        for (std::size_t i = 0; i < parameter.size; ++i) {
            direction[i] = draws.normal();
            along += direction[i] * static_cast<double>(gradient[parameter.offset + i]);
            norm += direction[i] * direction[i];
        }
        const double h = 2e-3 / std::sqrt(norm);
        const auto shifted = [&](double by) {
            for (std::size_t i = 0; i < parameter.size; ++i) {
                network.weights.values[parameter.offset + i] = static_cast<float>(
                    static_cast<double>(start[parameter.offset + i]) + by * direction[i]);
            }
            const double value = loss(false);
            network.weights.values = start;
            return value;
        };
        const double difference = (shifted(h) - shifted(-h)) / (2 * h);
        EXPECT_NEAR(difference, along, 0.02 * std::sqrt(norm) * 0.2 + 0.05 * std::abs(along))
            << parameter.name;
    }
}

TEST(Tabular, MlpGradientIsThatOfItsLoss) {
    const Rows rows(64, 6, 1);
    MlpNetwork network(6, 1);
    expect_gradient(network, rows);
}

TEST(Tabular, TabNetGradientIsThatOfItsLoss) {
    const Rows rows(64, 6, 2);
    TabNetNetwork network(6, 1);
    expect_gradient(network, rows);
}

/// The same network, taken apart and answered by `steer`.
template <class Network>
void expect_same_answers(const char* kind, std::uint64_t seed) {
    const std::size_t columns = feature_names(FeatureSet::repaired).size();
    const Rows rows(200, columns, seed);
    Network network(columns, seed);
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 0);
    for (int i = 0; i < 5; ++i) {  // gives the norms something to remember
        Tape tape(network.weights, true);
        static_cast<void>(network.pass(tape, rows.view(), draws));
    }
    Tape tape(network.weights, false);
    const Tape::Var logits = network.pass(tape, rows.view(), draws).logits;
    Model model;
    model.kind = kind;
    model.mean.assign(columns, 0);
    model.spread.assign(columns, 1);
    for (NamedArray& array : network.arrays())
        model.arrays.push_back({array.name, array.shape, array.values, {}});
    const auto classifier = make_classifier(model, "test");
    for (std::size_t i = 0; i < rows.y.size(); ++i) {
        const double expected = 1 / (1 + std::exp(-static_cast<double>(logits->v[i])));
        EXPECT_NEAR(classifier->probability(std::span(rows.x).subspan(i * columns, columns)),
                    expected, 1e-4);
    }
}

TEST(Tabular, MlpAnswersAlikeWithoutTheTape) {
    expect_same_answers<MlpNetwork>("mlp", 3);
}

TEST(Tabular, TabNetAnswersAlikeWithoutTheTape) {
    expect_same_answers<TabNetNetwork>("tabnet", 4);
}

double last_loss(const Rows& train, const Rows& held_out, bool tabnet) {
    double best = 10;
    const auto watch = [&](std::uint32_t, double loss) { best = std::min(best, loss); };
    const auto made = tabnet ? fit_tabnet(train.view(), held_out.view(), 1, watch)
                             : fit_mlp(train.view(), held_out.view(), 1, watch);
    EXPECT_FALSE(made.empty());
    return best;
}

TEST(Tabular, MlpLearnsAnExclusiveOr) {
    EXPECT_LT(last_loss(Rows(6000, 4, 5), Rows(500, 4, 6), false), 0.6);
}

TEST(LongTabular, TabNetLearnsAnExclusiveOr) {
    EXPECT_LT(last_loss(Rows(4000, 4, 5), Rows(500, 4, 6), true), 0.45);
}

TEST(Tabular, TheLastLayerIsFittedAgain) {
    const Rows rows(400, 2, 7);
    std::vector<std::uint8_t> labels;
    for (std::size_t i = 0; i < 400; ++i)
        labels.push_back(rows.x[2 * i] > 0 ? 1 : 0);
    const std::vector<float> start{0, 0, 0};
    const auto made = refit_last_layer(rows.x, labels, start, 200, 0.05);
    EXPECT_GT(made[0], 2);
    EXPECT_LT(std::abs(made[1]), 1);
    EXPECT_EQ(refit_last_layer(rows.x, labels, start, 0, 0.05), start);
}

}  // namespace
}  // namespace rudder::test
