// A network, a batch for it and its targets; and the comparison with the reference.
#pragma once

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "nn/random_batch.hpp"
#include "nn/reference.hpp"
#include "rudder/nn/network.hpp"

namespace rudder::testing {

/// A network, a batch for it, rows and targets.
struct Case {
    nn::NetworkOptions options;
    sample::Batch batch;
    std::vector<float> rows;
    std::vector<std::int32_t> classes;
    std::vector<std::uint8_t> labels;
    std::vector<float> numbers;

    Case(nn::NetworkOptions network_options, const BatchShape& shape)
        : options(std::move(network_options)), batch(random_batch(shape)) {
        options.layers = static_cast<int>(shape.fanouts.size());
        options.seed = shape.seed;
        rows = random_floats(batch.vertices.size() * options.inputs, shape.seed + 1);
        for (std::uint32_t s = 0; s < batch.seeds; ++s) {
            const std::uint64_t draw = batch.vertices[s] / 7;
            classes.push_back(s % 5 == 3 ? -1 : static_cast<std::int32_t>(draw % options.outputs));
        }
        for (std::size_t i = 0; i < batch.seeds * options.outputs; ++i)
            labels.push_back(static_cast<std::uint8_t>(i * 7 % 3 == 0));
        numbers = random_floats(batch.seeds * options.outputs, shape.seed + 2);
    }
    [[nodiscard]] nn::SeedTargets targets() const {
        nn::SeedTargets all;
        if (options.objective == nn::Objective::classes) all.classes = classes;
        if (options.objective == nn::Objective::multilabel) all.multilabel = labels;
        if (options.objective == nn::Objective::regression) all.regression = numbers;
        return all;
    }
};

struct Outcome {
    nn::BatchResult result;
    std::vector<float> gradient;
    std::vector<std::size_t> ready;
    std::vector<float> rows;  ///< the gradient of the input rows, where it is wanted
};

inline Outcome train_once(nn::Network& network, const Case& c, float weight) {
    Outcome outcome;
    outcome.gradient.assign(network.weights().size(), std::numeric_limits<float>::quiet_NaN());
    if (c.options.row_gradients) {
        outcome.rows.assign(c.rows.size(), std::numeric_limits<float>::quiet_NaN());
        network.set_row_gradients(outcome.rows);
    }
    outcome.result = network.train(c.batch, c.rows, c.targets(), weight, outcome.gradient,
                                   [&](std::size_t b) { outcome.ready.push_back(b); });
    return outcome;
}

inline double largest(std::span<const float> values) {
    double most = 1e-3;
    for (const float value : values)
        most = std::max(most, std::fabs(static_cast<double>(value)));
    return most;
}

/// Equal to `tolerance` relative to the largest value.
inline void expect_near(std::span<const float> a, std::span<const float> b, double tolerance) {
    ASSERT_EQ(a.size(), b.size());
    const double scale = largest(b);
    for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(static_cast<double>(a[i]), static_cast<double>(b[i]), tolerance * scale) << i;
}

inline nn::NetworkOptions small(nn::Objective objective, std::uint64_t inputs, std::uint64_t hidden,
                                std::uint64_t outputs) {
    nn::NetworkOptions options;
    options.objective = objective;
    options.inputs = inputs;
    options.hidden = hidden;
    options.outputs = outputs;
    return options;
}

/// `stir` may change the weights first.
inline void compare_with_reference(const Case& c, void (*stir)(nn::Network&) = nullptr) {
    const auto network = nn::make_network(c.options);
    if (stir != nullptr) stir(*network);
    const float weight = 1.F / static_cast<float>(std::max(1U, c.batch.seeds));
    const Outcome ours = train_once(*network, c, weight);
    const auto theirs = reference_network(c.options, network->parameters(), network->weights(),
                                          c.batch, c.rows, c.targets(), weight);
    EXPECT_NEAR(static_cast<double>(ours.result.loss), theirs.loss,
                1e-5 * std::max(1.0, std::fabs(theirs.loss)));
    expect_near(ours.gradient, theirs.gradient, 1e-5);
    if (c.options.row_gradients) expect_near(ours.rows, theirs.rows, 1e-5);
    for (std::size_t b = 0; b < ours.ready.size(); ++b)
        EXPECT_EQ(ours.ready[b], b);
    EXPECT_EQ(ours.ready.size(), network->buckets().size());
    std::vector<float> scores(c.batch.seeds * c.options.outputs);
    network->predict(c.batch, c.rows, scores);
    const auto plain = reference_network(c.options, network->parameters(), network->weights(),
                                         c.batch, c.rows, c.targets(), weight, true);
    expect_near(scores, plain.scores, 1e-5);
    if (c.options.dropout > 0 || c.options.input_dropout > 0 || c.options.norm == "batch") return;
    const nn::BatchResult counted =
        nn::count_correct(c.options.objective, c.options.outputs, scores, c.targets());
    EXPECT_EQ(counted.correct, ours.result.correct);
    EXPECT_EQ(counted.answers, ours.result.answers);
}

}  // namespace rudder::testing
