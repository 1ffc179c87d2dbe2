#include "tabular_networks.hpp"

#include <cmath>

#include <fmt/format.h>

namespace rudder::steer {

std::size_t TabularNetwork::add_linear(const std::string& name, std::size_t outputs,
                                       std::size_t inputs, double bound, Draws& draws) {
    const std::size_t offset = weights.add(name, outputs, inputs, 0);
    weights.draw(offset, outputs * inputs, bound, draws);
    return offset;
}

std::size_t TabularNetwork::add_norm(const std::string& name, std::size_t width, float momentum) {
    TapeNorm norm;
    norm.columns = width;
    norm.factor = weights.add(name + ".factor", width, 1, 1);
    norm.shift = weights.add(name + ".shift", width, 1, 0);
    norm.momentum = momentum;
    norm.mean.assign(width, 0);
    norm.variance.assign(width, 1);
    norms.push_back(std::move(norm));
    return norms.size() - 1;
}

std::pair<std::vector<float>, std::vector<float>> TabularNetwork::folded(
    const TapeNorm& norm) const {
    std::vector<float> factor(norm.columns);
    std::vector<float> shift(norm.columns);
    for (std::size_t c = 0; c < norm.columns; ++c) {
        factor[c] = weights.values[norm.factor + c] / std::sqrt(norm.variance[c] + 1e-5F);
        shift[c] = weights.values[norm.shift + c] - norm.mean[c] * factor[c];
    }
    return {factor, shift};
}

MlpNetwork::MlpNetwork(std::size_t inputs, std::uint64_t seed) : TabularNetwork(inputs) {
    const RandomStream stream({.purpose = Purpose::initialise, .seed = seed});
    Draws draws(stream, 0);
    for (std::size_t k = 0; k < widths.size(); ++k) {
        const double bound = 1 / std::sqrt(static_cast<double>(inputs));
        linear_[k] = add_linear(fmt::format("layer.{}", k), widths[k], inputs, bound, draws);
        bias_[k] = weights.add(fmt::format("layer.{}.bias", k), widths[k], 1, 0);
        norm_[k] = add_norm(fmt::format("norm.{}", k), widths[k], 0.1F);
        inputs = widths[k];
    }
    last_ = add_linear("last", 1, inputs, 1 / std::sqrt(static_cast<double>(inputs)), draws);
    last_bias_ = weights.add("last.bias", 1, 1, 0);
}

TabularNetwork::Pass MlpNetwork::pass(Tape& tape, const TabularData& batch, Draws& draws) {
    Tape::Var x = tape.input(batch.x, batch.rows(), batch.columns);
    for (std::size_t k = 0; k < widths.size(); ++k) {
        x = tape.add_bias(tape.linear(x, linear_[k], widths[k]), bias_[k]);
        x = tape.dropout(tape.relu(tape.norm(x, norms[norm_[k]], 0)), 0.1, draws);
    }
    const Tape::Var logits = tape.add_bias(tape.linear(x, last_, 1), last_bias_);
    return {logits, tape.logistic(logits, batch.y, batch.weight)};
}

std::vector<NamedArray> MlpNetwork::arrays() const {
    std::vector<NamedArray> all;
    std::size_t inputs = columns;
    for (std::size_t k = 0; k < widths.size(); ++k) {
        const auto [factor, shift] = folded(norms[norm_[k]]);
        const auto from = values(linear_[k], widths[k] * inputs);
        std::vector<float> folded_weights(from.begin(), from.end());
        std::vector<float> bias(widths[k]);
        for (std::size_t o = 0; o < widths[k]; ++o) {
            for (std::size_t i = 0; i < inputs; ++i)
                folded_weights[o * inputs + i] *= factor[o];
            bias[o] = weights.values[bias_[k] + o] * factor[o] + shift[o];
        }
        all.push_back({fmt::format("layer.{}.weights", k), {widths[k], inputs}, folded_weights});
        all.push_back({fmt::format("layer.{}.bias", k), {widths[k]}, bias});
        inputs = widths[k];
    }
    const auto from = values(last_, inputs);
    std::vector<float> last(from.begin(), from.end());
    last.push_back(weights.values[last_bias_]);
    all.push_back({"last", {last.size()}, last});
    return all;
}

TabNetNetwork::TabNetNetwork(std::size_t inputs, std::uint64_t seed) : TabularNetwork(inputs) {
    const RandomStream stream({.purpose = Purpose::initialise, .seed = seed});
    Draws draws(stream, 1);
    constexpr float momentum = 0.02F;
    // Glorot's uniform bound with the authors' gain for gated layers.
    const auto bound = [](std::size_t in, std::size_t out) {
        const double gain =
            std::sqrt(static_cast<double>(in + out) / std::sqrt(static_cast<double>(in)));
        return gain * std::sqrt(6.0 / static_cast<double>(in + out)) / std::sqrt(3.0);
    };
    input_norm_ = add_norm("input", inputs, 0.01F);
    shared_[0] = add_linear("shared.0", gates, inputs, bound(inputs, gates), draws);
    shared_[1] = add_linear("shared.1", gates, both, bound(both, gates), draws);
    for (std::size_t s = 0; s <= steps; ++s) {
        Step& step = step_[s];
        const std::string name = fmt::format("step.{}", s);
        for (std::size_t k = 0; k < 4; ++k)
            step.norm[k] = add_norm(fmt::format("{}.norm.{}", name, k), gates, momentum);
        for (std::size_t k = 0; k < 2; ++k) {
            step.own[k] = add_linear(fmt::format("{}.own.{}", name, k), gates, both,
                                     bound(both, gates), draws);
        }
        if (s == 0) continue;
        step.attend = add_linear(name + ".attend", inputs, width, bound(width, inputs), draws);
        step.attend_norm = add_norm(name + ".attend", inputs, momentum);
    }
    last_ = add_linear("last", 1, width, std::sqrt(6.0 / (width + 1)), draws);
    last_bias_ = weights.add("last.bias", 1, 1, 0);
}

Tape::Var TabNetNetwork::transform(Tape& tape, Tape::Var x, const Step& step) {
    constexpr float half = 0.70710678F;
    for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t from = k < 2 ? shared_[k] : step.own[k - 2];
        const Tape::Var normed = tape.norm(tape.linear(x, from, gates), norms[step.norm[k]], ghost);
        const Tape::Var gated = tape.gated(normed);
        x = k == 0 ? gated : tape.sum(x, gated, half);
    }
    return x;
}

TabularNetwork::Pass TabNetNetwork::pass(Tape& tape, const TabularData& batch, Draws& /*draws*/) {
    const Tape::Var given = tape.input(batch.x, batch.rows(), batch.columns);
    const Tape::Var x = tape.norm(given, norms[input_norm_], 0);
    Tape::Var prior = tape.constant(batch.rows(), columns, 1);
    Tape::Var attention = tape.slice(transform(tape, x, step_[0]), width, width);
    Tape::Var total = tape.constant(batch.rows(), width, 0);
    double entropy = 0;
    for (std::size_t s = 1; s <= steps; ++s) {
        const Step& step = step_[s];
        const Tape::Var scores =
            tape.norm(tape.linear(attention, step.attend, columns), norms[step.attend_norm], ghost);
        const Tape::Var mask = tape.sparsemax(tape.product(prior, scores));
        entropy += tape.entropy(mask, sparsity / steps);
        prior = tape.faded(prior, gamma, mask);
        const Tape::Var out = transform(tape, tape.product(mask, x), step);
        total = tape.sum(total, tape.relu(tape.slice(out, 0, width)), 1);
        attention = tape.slice(out, width, width);
    }
    const Tape::Var logits = tape.add_bias(tape.linear(total, last_, 1), last_bias_);
    return {logits, tape.logistic(logits, batch.y, batch.weight) + entropy};
}

std::vector<NamedArray> TabNetNetwork::arrays() const {
    std::vector<NamedArray> all;
    const auto put = [&](const std::string& name, std::vector<std::uint64_t> shape,
                         std::span<const float> from) {
        all.push_back({name, std::move(shape), {from.begin(), from.end()}});
    };
    const auto put_norm = [&](const std::string& factor_name, const std::string& shift_name,
                              std::size_t norm) {
        const auto [factor, shift] = folded(norms[norm]);
        put(factor_name, {factor.size()}, factor);
        put(shift_name, {shift.size()}, shift);
    };
    put_norm("input.factor", "input.shift", input_norm_);
    put("shared.0", {gates, columns}, values(shared_[0], gates * columns));
    put("shared.1", {gates, both}, values(shared_[1], gates * both));
    for (std::size_t s = 0; s <= steps; ++s) {
        const std::string name = fmt::format("step.{}", s);
        for (std::size_t k = 0; k < 4; ++k) {
            put_norm(fmt::format("{}.factor.{}", name, k), fmt::format("{}.shift.{}", name, k),
                     step_[s].norm[k]);
        }
        for (std::size_t k = 0; k < 2; ++k) {
            put(fmt::format("{}.own.{}", name, k), {gates, both},
                values(step_[s].own[k], gates * both));
        }
        if (s == 0) continue;
        put(name + ".attend", {columns, width}, values(step_[s].attend, columns * width));
        put_norm(name + ".attend.factor", name + ".attend.shift", step_[s].attend_norm);
    }
    const auto from = values(last_, width);
    std::vector<float> last(from.begin(), from.end());
    last.push_back(weights.values[last_bias_]);
    put("last", {last.size()}, last);
    return all;
}

}  // namespace rudder::steer
