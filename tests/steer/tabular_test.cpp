// The neural classifiers: gradients by finite differences, and that their arrays answer alike.
#include <algorithm>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>

#include "steer/classifiers/classifier.hpp"
#include "steer/fit/refit.hpp"

#include "fit/small_product.hpp"
#include "fit/tabular_networks.hpp"

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
            y.push_back((row[0] > 0) != (row[width > 1 ? 1 : 0] > 0) ? 1 : 0);
            weight.push_back(1 + static_cast<float>(i % 3));
        }
    }
    [[nodiscard]] steer::TabularData view() const { return {columns, x, y, weight}; }
};

/// Compares the tape's gradient with differences of the loss, parameter by parameter, along a
/// random direction of length 1. `make` computes the loss, and the gradient too if asked.
void expect_gradient(steer::TapeWeights& weights, const std::function<double(bool)>& make,
                     double step, double slack) {
    std::ranges::fill(weights.gradient, 0.0F);
    make(true);
    const std::vector<float> gradient = weights.gradient;
    const std::vector<float> start = weights.values;
    const RandomStream stream({.purpose = Purpose::test, .seed = 5});
    for (std::size_t p = 0; p < weights.list.size(); ++p) {
        const steer::WeightRange& parameter = weights.list[p];
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
        EXPECT_NEAR(difference, along, slack * (1 + 5 * std::abs(along))) << weights.names[p];
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
        steer::Tape tape(network.weights, true);
        const double value = network.pass(tape, rows.view(), draws).loss;
        if (back) tape.backward();
        return value;
    };
    expect_gradient(network.weights, loss, step, slack);
}

TEST(Tape, EveryOperationHasItsGradient) {
    const Rows rows(32, 6, 1);
    steer::TapeWeights weights;
    const RandomStream stream({.purpose = Purpose::test, .seed = 2});
    Draws draws(stream, 0);
    const std::size_t n = 6;
    const std::size_t first = weights.add("first", n, n, 0);
    const std::size_t second = weights.add("second", n, n, 0);
    const std::size_t wide = weights.add("wide", 2 * n, n, 0);
    const std::size_t last = weights.add("last", 1, n, 0);
    weights.draw(0, weights.values.size(), 1, draws);
    steer::TapeNorm norm;
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
            steer::TapeNorm used = norm;
            steer::Tape tape(weights, true);
            const steer::Tape::Var x = tape.input(rows.x, 32, n);
            steer::Tape::Var y = tape.add_bias(tape.linear(x, first, n), bias);
            double more = 0;
            if (name == "relu") y = tape.sum(tape.relu(y), x, 0.7F);
            if (name == "gated") y = tape.gated(tape.linear(y, wide, 2 * n));
            if (name == "norm") y = tape.product(tape.norm(y, used, 0), x);
            if (name == "groups") y = tape.product(tape.norm(y, used, 10), x);
            if (name == "sparsemax") y = tape.product(tape.sparsemax(y), x);
            if (name == "faded") {
                const steer::Tape::Var prior =
                    tape.faded(tape.constant(32, n, 1), 1.5F, tape.sparsemax(y));
                y = tape.product(tape.sparsemax(tape.product(prior, tape.linear(x, second, n))), x);
            }
            if (name == "entropy") {
                y = tape.sparsemax(y);
                more = tape.entropy(y, 0.5);
            }
            if (name == "slice") {
                const steer::Tape::Var both = tape.linear(y, wide, 2 * n);
                y = tape.product(tape.slice(both, 0, n), tape.slice(both, n, n));
            }
            const double value = tape.logistic(tape.linear(y, last, 1), rows.y, rows.weight) + more;
            if (back) tape.backward();
            return value;
        };
        expect_gradient(weights, loss, 1e-3, 2e-3);
    }
}

TEST(SmallProduct, AgreesWithThePlainSum) {
    for (const std::size_t depth : {1U, 3U, 4U, 9U}) {
        for (const std::size_t columns : {1U, 7U, 33U}) {
            const std::size_t rows = 5;
            const Rows a(rows, depth, 3);
            const Rows b(depth, columns, 4);
            for (const bool transposed : {false, true}) {
                std::vector<float> c(rows * columns, 0.5F);
                steer::add_product(a.x.data(), transposed ? 1 : depth, transposed ? rows : 1,
                                   b.x.data(), c.data(), rows, columns, depth);
                for (std::size_t r = 0; r < rows; ++r) {
                    for (std::size_t j = 0; j < columns; ++j) {
                        double sum = 0.5;
                        for (std::size_t k = 0; k < depth; ++k)
                            sum += static_cast<double>(
                                       a.x[transposed ? k * rows + r : r * depth + k]) *
                                   static_cast<double>(b.x[k * columns + j]);
                        ASSERT_NEAR(static_cast<double>(c[r * columns + j]), sum, 1e-5);
                    }
                }
            }
        }
    }
}

TEST(AdamOfClassifiers, KnownSteps) {
    // The first step is the learning rate, whatever the size of the gradient; then decay alone.
    std::vector<float> w{1, 1, 1};
    steer::Adam adam({.learning_rate = 0.1, .weight_decay = 0.5});
    const std::vector<steer::WeightRange> ranges{{0, 2, false}, {2, 1, true}};
    adam.step(w, std::vector<float>{1e-3F, -20, 0}, ranges);
    EXPECT_NEAR(w[0], 0.9F, 1e-5F);
    EXPECT_NEAR(w[1], 1.1F, 1e-5F);
    EXPECT_NEAR(w[2], 0.95F, 1e-6F);
    // Clipping changes the direction of later steps only by the norm.
    std::vector<float> a{0};
    std::vector<float> b{0};
    steer::Adam free({.learning_rate = 0.1});
    steer::Adam clipped({.learning_rate = 0.1, .clip = 1});
    const steer::WeightRange one{0, 1, false};
    for (const float g : {1.F, 100.F}) {
        free.step(a, std::span(&g, 1), std::span(&one, 1));
        clipped.step(b, std::span(&g, 1), std::span(&one, 1));
    }
    EXPECT_NEAR(b[0], -0.2F, 1e-4F);
    EXPECT_LT(a[0], -0.16F);
    EXPECT_GT(a[0], b[0]);
}

TEST(Tabular, MlpGradientIsThatOfItsLoss) {
    const Rows rows(64, 6, 1);
    steer::MlpNetwork network(6, 1);
    expect_network_gradient(network, rows, 5e-4, 5e-3);
}

TEST(Tabular, TabNetGradientIsThatOfItsLoss) {
    // Its loss is rough, since masked columns are nearly empty before they are normalised: short
    // steps, and slack for what floats lose then.
    const Rows rows(128, 6, 2);
    steer::TabNetNetwork network(6, 1);
    expect_network_gradient(network, rows, 1e-4, 2e-2);
}

/// The same network, taken apart and answered by `steer`.
template <class Network>
void expect_same_answers(const char* kind, std::uint64_t seed) {
    const std::size_t columns = steer::feature_names(steer::FeatureSet::repaired).size();
    const Rows rows(200, columns, seed);
    Network network(columns, seed);
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 0);
    for (int i = 0; i < 5; ++i) {  // gives the norms something to remember
        steer::Tape tape(network.weights, true);
        static_cast<void>(network.pass(tape, rows.view(), draws));
    }
    steer::Tape tape(network.weights, false);
    const steer::Tape::Var logits = network.pass(tape, rows.view(), draws).logits;
    steer::Model model;
    model.kind = kind;
    model.mean.assign(columns, 0);
    model.spread.assign(columns, 1);
    for (steer::NamedArray& array : network.arrays())
        model.arrays.push_back({array.name, array.shape, array.values, {}});
    const auto classifier = steer::make_classifier(model, "test");
    for (std::size_t i = 0; i < rows.y.size(); ++i) {
        const double expected = 1 / (1 + std::exp(-static_cast<double>(logits->v[i])));
        EXPECT_NEAR(classifier->probability(std::span(rows.x).subspan(i * columns, columns)),
                    expected, 1e-4);
    }
}

TEST(Tabular, MlpAnswersAlikeWithoutTheTape) {
    expect_same_answers<steer::MlpNetwork>("mlp", 3);
}

TEST(Tabular, TabNetAnswersAlikeWithoutTheTape) {
    expect_same_answers<steer::TabNetNetwork>("tabnet", 4);
}

double last_loss(const Rows& train, const Rows& held_out, bool tabnet) {
    double best = 10;
    const auto watch = [&](std::uint32_t, double loss) { best = std::min(best, loss); };
    const auto made = tabnet ? steer::fit_tabnet(train.view(), held_out.view(), 1, watch)
                             : steer::fit_mlp(train.view(), held_out.view(), 1, watch);
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
    const auto made = steer::refit_last_layer(rows.x, labels, start, 200, 0.05);
    EXPECT_GT(made[0], 2);
    EXPECT_LT(std::abs(made[1]), 1);
    EXPECT_EQ(steer::refit_last_layer(rows.x, labels, start, 0, 0.05), start);
}

}  // namespace
}  // namespace rudder::test
