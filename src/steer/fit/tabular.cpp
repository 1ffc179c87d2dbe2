// Fitting the neural classifiers: an MLP and TabNet.
#include "tabular.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "rudder/core/random.hpp"

#include "fit.hpp"
#include "refit.hpp"
#include "tabular_networks.hpp"

namespace rudder::steer {

namespace {

/// How a network is fitted.
struct Recipe {
    AdamOptions adam;
    std::size_t batch = 128;
    std::uint32_t epochs = 10;
    std::uint32_t patience = 10;
};

/// The rows of some indices, one after the other.
struct Batch {
    std::vector<float> x;
    std::vector<std::uint8_t> y;
    std::vector<float> weight;

    Batch(const TabularData& data, std::span<const std::size_t> rows) {
        for (const std::size_t r : rows) {
            const auto row = data.x.subspan(r * data.columns, data.columns);
            x.insert(x.end(), row.begin(), row.end());
            y.push_back(data.y[r]);
            weight.push_back(data.weight[r]);
        }
    }
    [[nodiscard]] TabularData view(std::size_t columns) const { return {columns, x, y, weight}; }
};

std::vector<std::size_t> shuffled(std::size_t count, Draws& draws) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = count; i > 1; --i)
        std::swap(order[i - 1], order[draws.below(i)]);
    return order;
}

/// The loss of all rows, without training.
double evaluate(TabularNetwork& network, const TabularData& data, Draws& draws) {
    constexpr std::size_t most = 4096;
    std::vector<std::size_t> rows(data.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    double loss = 0;
    for (std::size_t at = 0; at < rows.size(); at += most) {
        const auto part = std::span(rows).subspan(at, std::min(most, rows.size() - at));
        const Batch batch(data, part);
        Tape tape(network.weights, false);
        loss += network.pass(tape, batch.view(data.columns), draws).loss *
                static_cast<double>(part.size()) / static_cast<double>(rows.size());
    }
    return loss;
}

/// Fits until the epochs are over or the rows held out get no better; the best state stays.
void fit(TabularNetwork& network, const TabularData& train, const TabularData& held_out,
         const Recipe& recipe, std::uint64_t seed, const EpochWatch& watch) {
    Adam adam(recipe.adam);
    const RandomStream stream({.purpose = Purpose::schedule, .seed = seed});
    TabularState best = network.state();
    double best_loss = std::numeric_limits<double>::infinity();
    std::uint32_t since = 0;
    for (std::uint32_t epoch = 0; epoch < recipe.epochs && since < recipe.patience; ++epoch) {
        Draws draws(stream, epoch);
        const auto order = shuffled(train.rows(), draws);
        // A last batch of one row would have no spread to normalise by.
        for (std::size_t at = 0; at + 1 < order.size(); at += recipe.batch) {
            const Batch batch(
                train, std::span(order).subspan(at, std::min(recipe.batch, order.size() - at)));
            if (batch.y.size() < 2) break;
            Tape tape(network.weights, true);
            std::ranges::fill(network.weights.gradient, 0.0F);
            static_cast<void>(network.pass(tape, batch.view(train.columns), draws));
            tape.backward();
            adam.step(network.weights.values, network.weights.gradient, network.weights.list);
        }
        const double loss = evaluate(network, held_out.rows() != 0 ? held_out : train, draws);
        if (watch) watch(epoch, loss);
        ++since;
        if (loss < best_loss) {
            best_loss = loss;
            best = network.state();
            since = 0;
        }
    }
    network.state() = best;
}

}  // namespace

std::vector<NamedArray> fit_mlp(const TabularData& train, const TabularData& held_out,
                                std::uint64_t seed, const EpochWatch& watch) {
    MlpNetwork network(train.columns, seed);
    Recipe recipe;
    recipe.adam.learning_rate = 1e-4;
    recipe.adam.weight_decay = 1e-3;
    recipe.patience = 3;
    fit(network, train, held_out, recipe, seed, watch);
    return network.arrays();
}

std::vector<NamedArray> fit_tabnet(const TabularData& train, const TabularData& held_out,
                                   std::uint64_t seed, const EpochWatch& watch) {
    TabNetNetwork network(train.columns, seed);
    Recipe recipe;
    recipe.adam.learning_rate = 0.02;
    recipe.adam.clip = 1;
    recipe.batch = 1024;
    recipe.epochs = 50;
    fit(network, train, held_out, recipe, seed, watch);
    return network.arrays();
}

std::vector<float> refit_last_layer(std::span<const float> inputs,
                                    std::span<const std::uint8_t> labels,
                                    std::span<const float> weights, std::uint32_t epochs,
                                    double learning_rate) {
    const std::size_t width = weights.size() - 1;
    std::vector<float> now(weights.begin(), weights.end());
    std::vector<float> gradient(now.size());
    Adam adam({.learning_rate = learning_rate});
    const WeightRange all{0, now.size(), true};
    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
        std::ranges::fill(gradient, 0.0F);
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const auto row = inputs.subspan(i * width, width);
            const float z = std::inner_product(row.begin(), row.end(), now.begin(), now.back());
            const float error = (1 / (1 + std::exp(-z)) - static_cast<float>(labels[i])) /
                                static_cast<float>(labels.size());
            for (std::size_t c = 0; c < width; ++c)
                gradient[c] += error * row[c];
            gradient[width] += error;
        }
        adam.step(now, gradient, std::span(&all, 1));
    }
    return now;
}

void fit_neural(Model& model, const SampleTable& table, const FitTask& task) {
    const auto view = [](const FitData& data) {
        return TabularData{data.columns, data.x, data.y, data.weight};
    };
    const FitData train = rows_of(table, task, model, Side::train);
    const FitData held_out = rows_of(table, task, model, Side::held_out);
    // A trace of one host has none to hold out.
    const FitData all = train.rows() != 0 ? train : rows_of(table, task, model, Side::train_all);
    auto made = model.kind == "mlp" ? fit_mlp(view(all), view(held_out), task.seed)
                                    : fit_tabnet(view(all), view(held_out), task.seed);
    model.arrays = model_arrays(std::move(made));
}

std::vector<ModelArray> model_arrays(std::vector<NamedArray> made) {
    std::vector<ModelArray> arrays;
    for (NamedArray& array : made) {
        arrays.push_back(
            {std::move(array.name), std::move(array.shape), std::move(array.values), {}});
    }
    return arrays;
}

}  // namespace rudder::steer
