// Networks by their definition in doubles: what definitions have in common, and what is expected of
// a network beside its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "nn/network_case.hpp"

namespace rudder::testing {

using Doubles = std::vector<double>;

/// The definition of a network, layer by layer and element by element, for any weights.
class Definition {
public:
    Definition(const Case& c, const nn::Network& network) : c_(c) {
        for (const nn::Parameter& parameter : network.parameters())
            place_[parameter.name] = parameter;
    }
    Definition(const Definition&) = delete;
    Definition& operator=(const Definition&) = delete;
    virtual ~Definition() = default;

    [[nodiscard]] Doubles scores(const Doubles& weights) const {
        Doubles input(c_.rows.begin(), c_.rows.end());
        std::size_t in = c_.options.inputs;
        const std::size_t layers = c_.batch.blocks.size();
        for (std::size_t l = 0; l < layers; ++l) {
            const bool last = l + 1 == layers;
            const std::size_t out = last ? c_.options.outputs : c_.options.hidden;
            input = layer({weights, l, input, in, out, last});
            in = out;
        }
        return input;
    }

    [[nodiscard]] double loss(const Doubles& weights, double weight) const {
        const Doubles all = scores(weights);
        const std::size_t outputs = c_.options.outputs;
        double sum = 0;
        for (std::size_t s = 0; s < c_.batch.seeds; ++s) {
            if (c_.classes[s] < 0) continue;
            double norm = 0;
            for (std::size_t o = 0; o < outputs; ++o)
                norm += std::exp(all[s * outputs + o]);
            sum += weight *
                   (std::log(norm) - all[s * outputs + static_cast<std::size_t>(c_.classes[s])]);
        }
        return sum;
    }

protected:
    struct Layer {
        const Doubles& weights;
        std::size_t l;
        const Doubles& input;
        std::size_t in;
        std::size_t out;
        bool last;
    };
    /// The rows of all destinations.
    [[nodiscard]] virtual Doubles layer(const Layer& here) const = 0;

    /// Element `i` of a parameter.
    [[nodiscard]] double at(const Doubles& weights, const std::string& name, std::size_t i) const {
        return weights[place_.at(name).offset + i];
    }
    [[nodiscard]] const Case& given() const { return c_; }

private:
    const Case& c_;
    std::map<std::string, nn::Parameter> place_;
};

/// Whether a model's means may be weighted.
inline bool may_be_weighted(const std::string& model) {
    const auto models = nn::weighted_models();
    return std::ranges::find(models, model) != models.end();
}

inline std::vector<float> predicted(nn::Network& network, const Case& c) {
    std::vector<float> scores(c.batch.seeds * c.options.outputs);
    network.predict(c.batch, c.rows, scores);
    return scores;
}

inline void expect_defined_scores(nn::Network& network, const Case& c, const Definition& definition,
                                  double tolerance) {
    const std::vector<float> scores = predicted(network, c);
    const auto weights = network.weights();
    const Doubles expected = definition.scores(Doubles(weights.begin(), weights.end()));
    for (std::size_t i = 0; i < scores.size(); ++i)
        ASSERT_NEAR(static_cast<double>(scores[i]), expected[i], tolerance) << i;
}

/// The loss, and its gradient by differences; all buckets are told to be ready.
inline void expect_defined_gradient(nn::Network& network, const Case& c,
                                    const Definition& definition) {
    constexpr float weight = 0.25F;
    constexpr double step = 1e-6;
    const Outcome outcome = train_once(network, c, weight);
    Doubles weights(network.weights().begin(), network.weights().end());
    EXPECT_NEAR(static_cast<double>(outcome.result.loss), definition.loss(weights, weight), 1e-4);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double here = weights[i];
        weights[i] = here + step;
        const double above = definition.loss(weights, weight);
        weights[i] = here - step;
        const double below = definition.loss(weights, weight);
        weights[i] = here;
        ASSERT_NEAR(static_cast<double>(outcome.gradient[i]), (above - below) / 2 / step, 2e-4)
            << "seed " << c.options.seed << ", weight " << i;
    }
    EXPECT_EQ(outcome.ready.size(), network.buckets().size());
}

/// Two layers, one after the other as exact evaluation has them, give what a batch does.
inline void expect_same_layer_by_layer(nn::Network& network, const Case& c) {
    std::vector<float> hidden(c.batch.blocks[0].destinations * c.options.hidden);
    network.infer_layer(0, c.batch.blocks[0], {}, c.rows, hidden);
    std::vector<float> answers(c.batch.seeds * c.options.outputs);
    network.infer_layer(1, c.batch.blocks[1], {}, hidden, answers);
    EXPECT_EQ(answers, predicted(network, c));
}

/// Gradients of the input rows, each against the difference that moving its number makes. `slow` is
/// defined over this very case, whose rows are moved and put back.
inline void expect_defined_row_gradients(nn::Network& network, Case& c, const Definition& slow) {
    const Outcome outcome = train_once(network, c, 0.25F);
    const Doubles weights(network.weights().begin(), network.weights().end());
    constexpr float step = 0x1.0p-17F;
    double largest_of_all = 0;
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
        const float here = c.rows[i];
        const float more = here + step;
        const float less = here - step;
        c.rows[i] = more;
        const double above = slow.loss(weights, 0.25);
        c.rows[i] = less;
        const double below = slow.loss(weights, 0.25);
        c.rows[i] = here;
        const double apart = static_cast<double>(more) - static_cast<double>(less);
        const double expected = (above - below) / apart;
        ASSERT_NEAR(static_cast<double>(outcome.rows[i]), expected, 2e-4) << i;
        largest_of_all = std::max(largest_of_all, std::fabs(expected));
    }
    EXPECT_GT(largest_of_all, 0.01);
}

}  // namespace rudder::testing
