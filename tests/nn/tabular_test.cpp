// The neural classifiers: gradients by finite differences, and that their arrays answer alike.
#include "rudder/nn/tabular.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

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

/// Compares the tape's gradient with differences of the loss, parameter by parameter, along a
/// random direction of length 1. `make` computes the loss, and the gradient too if asked.
void expect_gradient(TapeWeights& weights, const std::function<double(bool)>& make, double step,
                     double slack) {
    std::ranges::fill(weights.gradient, 0.0F);
    make(true);
    const std::vector<float> gradient = weights.gradient;
    const std::vector<float> start = weights.values;
    const RandomStream stream({.purpose = Purpose::test, .seed = 5});
    for (const Parameter& parameter : weights.list) {
        Draws draws(stream, parameter.offset);
        std::vector<double> direction(parameter.size);
        double norm = 0;
        for (double& d : direction) {
            d = draws.normal();
            norm += d * d;
        }
        double along = 0;
        for (std::size_t i = 0; i < parameter.size; ++i) {
            direction[i] /= std::sqrt(norm);
            along += direction[i] * static_cast<double>(gradient[parameter.offset + i]);
        }
        const auto shifted = [&](double by) {
            for (std::size_t i = 0; i < parameter.size; ++i) {
                weights.values[parameter.offset + i] = static_cast<float>(
                    static_cast<double>(start[parameter.offset + i]) + by * direction[i]);
            }
            const double value = make(false);
            weights.values = start;
            return value;
        };
        const double difference = (shifted(step) - shifted(-step)) / (2 * step);
        EXPECT_NEAR(difference, along, slack * (1 + 5 * std::abs(along))) << parameter.name;
    }
}

/// The same of a whole network.
template <class Network>
void expect_network_gradient(Network& network, const Rows& rows, double step, double slack) {
    const RandomStream stream({.purpose = Purpose::test, .seed = 5});
    const auto norms = network.norms;
    const auto loss = [&](bool back) {
        network.norms = norms;
        Draws draws(stream, 99);  // dropout must drop the same each time
        Tape tape(network.weights, true);
        const double value = network.pass(tape, rows.view(), draws).loss;
        if (back) tape.backward();
        return value;
    };
    expect_gradient(network.weights, loss, step, slack);
}

TEST(Tape, EveryOperationHasItsGradient) {
    const Rows rows(32, 6, 1);
    TapeWeights weights;
    const RandomStream stream({.purpose = Purpose::test, .seed = 2});
    Draws draws(stream, 0);
    const std::size_t n = 6;
    const std::size_t first = weights.add("first", n, n, 0);
    const std::size_t second = weights.add("second", n, n, 0);
    const std::size_t wide = weights.add("wide", 2 * n, n, 0);
    const std::size_t last = weights.add("last", 1, n, 0);
    weights.draw(0, weights.values.size(), 1, draws);
    TapeNorm norm;
    norm.columns = n;
    norm.factor = weights.add("factor", n, 1, 1.2F);
    norm.shift = weights.add("shift", n, 1, 0.3F);
    norm.mean.assign(n, 0);
    norm.variance.assign(n, 1);
    const std::size_t bias = weights.add("bias", n, 1, 0.1F);
    for (const char* what :
         {"linear", "relu", "gated", "norm", "groups", "sparsemax", "faded", "entropy", "slice"}) {
        SCOPED_TRACE(what);
        const std::string name = what;
        const auto loss = [&](bool back) {
            TapeNorm used = norm;
            Tape tape(weights, true);
            const Tape::Var x = tape.input(rows.x, 32, n);
            Tape::Var y = tape.add_bias(tape.linear(x, first, n), bias);
            double more = 0;
            if (name == "relu") y = tape.sum(tape.relu(y), x, 0.7F);
            if (name == "gated") y = tape.gated(tape.linear(y, wide, 2 * n));
            if (name == "norm") y = tape.product(tape.norm(y, used, 0), x);
            if (name == "groups") y = tape.product(tape.norm(y, used, 10), x);
            if (name == "sparsemax") y = tape.product(tape.sparsemax(y), x);
            if (name == "faded") {
                const Tape::Var prior =
                    tape.faded(tape.constant(32, n, 1), 1.5F, tape.sparsemax(y));
                y = tape.product(tape.sparsemax(tape.product(prior, tape.linear(x, second, n))), x);
            }
            if (name == "entropy") {
                y = tape.sparsemax(y);
                more = tape.entropy(y, 0.5);
            }
            if (name == "slice") {
                const Tape::Var both = tape.linear(y, wide, 2 * n);
                y = tape.product(tape.slice(both, 0, n), tape.slice(both, n, n));
            }
            const double value = tape.logistic(tape.linear(y, last, 1), rows.y, rows.weight) + more;
            if (back) tape.backward();
            return value;
        };
        expect_gradient(weights, loss, 1e-3, 2e-3);
    }
}

TEST(Tabular, MlpGradientIsThatOfItsLoss) {
    const Rows rows(64, 6, 1);
    MlpNetwork network(6, 1);
    expect_network_gradient(network, rows, 5e-4, 5e-3);
}

TEST(Tabular, TabNetGradientIsThatOfItsLoss) {
    // Its loss is rough, since masked columns are nearly empty before they are normalised: short
    // steps, and slack for what floats lose then.
    const Rows rows(128, 6, 2);
    TabNetNetwork network(6, 1);
    expect_network_gradient(network, rows, 1e-4, 2e-2);
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
