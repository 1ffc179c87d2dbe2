#include "nn/reference.hpp"

#include <map>

#include "nn/autograd.hpp"
#include "rudder/nn/dropout.hpp"

namespace rudder::testing {

namespace {

using Vars = std::map<std::string, Var>;

std::vector<float> rounded(const std::vector<double>& values) {
    return {values.begin(), values.end()};
}

double relu(double x) {
    return x > 0 ? x : 0;
}
double relu_slope(double x, double /*y*/) {
    return x > 0 ? 1 : 0;
}
double elu(double x) {
    return x > 0 ? x : std::expm1(x);
}
double elu_slope(double x, double y) {
    return x > 0 ? 1 : y + 1;
}
double leaky(double x) {
    return x > 0 ? x : 0.2 * x;
}
double leaky_slope(double x, double /*y*/) {
    return x > 0 ? 1 : 0.2;
}
double raise(double x) {
    return std::exp(x);
}
double raise_slope(double /*x*/, double y) {
    return y;
}
/// 1 / sqrt(x + 1e-5), as norms have it.
double inverse_spread(double x) {
    return 1 / std::sqrt(x + 1e-5);
}
double inverse_spread_slope(double /*x*/, double y) {
    return -0.5 * y * y * y;
}

/// Who reads whom in a block, with or without everyone reading itself first.
struct Pairs {
    Index from;
    Index to;
    Pairs(const sample::Block& block, bool self) {
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            if (self) {
                from.push_back(d);
                to.push_back(d);
            }
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
                from.push_back(block.neighbours[e]);
                to.push_back(d);
            }
        }
    }
};

/// A column of numbers by row, which nothing depends on.
template <class F>
Var column(Graph& g, std::size_t rows, const F& value) {
    Var out = g.make(rows, 1);
    for (std::size_t r = 0; r < rows; ++r)
        out->value[r] = value(r);
    return out;
}

Var mean(Graph& g, const sample::Block& block, Var table) {
    const Pairs pairs(block, false);
    Var sums = g.scatter(g.gather(table, pairs.from), pairs.to, block.destinations);
    return g.times(sums, column(g, block.destinations, [&](std::size_t d) {
                       return 1.0 / std::max(1U, block.offsets[d + 1] - block.offsets[d]);
                   }));
}

struct Pass {
    Graph& g;
    const nn::NetworkOptions& options;
    const sample::Batch& batch;
    bool running;
    Vars p;
    std::map<std::string, std::vector<double>> statistics{};

    Var mask(std::size_t layer, std::size_t rows, std::size_t columns, double rate) {
        const nn::Dropout dropout({Purpose::dropout, options.seed, batch.key.epoch, batch.key.step,
                                   static_cast<std::uint32_t>(layer)},
                                  rate);
        Var out = g.make(rows, columns);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c)
                if (dropout.keeps(batch.vertices[r], c))
                    out->value[r * columns + c] = static_cast<double>(dropout.scale);
        return out;
    }

    Var sage(const std::string& layer, const sample::Block& block, Var h) {
        Var own = g.product(g.first(h, block.destinations), p.at(layer + "self.weight"));
        Var others = g.product(mean(g, block, h), p.at(layer + "neigh.weight"));
        return g.plus(g.plus(own, others), p.at(layer + "neigh.bias"));
    }

    Var gcn(const std::string& layer, const sample::Block& block, Var h) {
        const Pairs pairs(block, false);
        const auto norm = [&](std::size_t s) { return 1 / std::sqrt(batch.degrees[s] + 1.0); };
        Var of_edge = column(g, pairs.from.size(), [&](std::size_t e) {
            const std::size_t d = pairs.to[e];
            const double sampled = std::max(1U, block.offsets[d + 1] - block.offsets[d]);
            return norm(pairs.from[e]) * norm(d) * batch.degrees[d] / sampled;
        });
        Var own = column(g, block.destinations, [&](std::size_t d) { return norm(d) * norm(d); });
        Var z = g.product(h, p.at(layer + "weight"));
        Var sums = g.plus(
            g.times(g.first(z, block.destinations), own),
            g.scatter(g.times(g.gather(z, pairs.from), of_edge), pairs.to, block.destinations));
        return g.plus(sums, p.at(layer + "bias"));
    }

    /// Softmax of the scores (pairs x heads) by destination, weighted sum, heads joined.
    Var attend(const Pairs& pairs, const sample::Block& block, Var scores, Var values, bool last,
               Var bias) {
        Var raised = g.map(scores, raise, raise_slope);
        Var sums = g.scatter(raised, pairs.to, block.destinations);
        Var alpha = g.over(raised, g.gather(sums, pairs.to));
        Var out =
            g.scatter(g.times(g.gather(values, pairs.from), alpha), pairs.to, block.destinations);
        if (last)
            out = g.scaled(g.stretch_sums(out, out->columns / options.heads),
                           1.0 / static_cast<double>(options.heads));
        return g.plus(out, bias);
    }
    /// A vector per head as one row.
    Var row(const std::string& name) {
        Var vector = p.at(name);
        Var out = g.make(1, vector->value.size());
        out->value = vector->value;
        out->back = [=] {
            for (std::size_t i = 0; i < vector->slope.size(); ++i)
                vector->slope[i] += out->slope[i];
        };
        return out;
    }

    Var gat(const std::string& layer, const sample::Block& block, Var h, bool last) {
        const Pairs pairs(block, true);
        Var z = g.product(h, p.at(layer + "weight"));
        Var source = g.group_sums(g.times(z, row(layer + "att_src")), options.heads);
        Var destination = g.group_sums(g.times(z, row(layer + "att_dst")), options.heads);
        Var scores = g.map(g.plus(g.gather(source, pairs.from), g.gather(destination, pairs.to)),
                           leaky, leaky_slope);
        return attend(pairs, block, scores, z, last, p.at(layer + "bias"));
    }

    Var gatv2(const std::string& layer, const sample::Block& block, Var h, bool last) {
        const Pairs pairs(block, true);
        const auto mapped = [&](Var from, const std::string& side) {
            return g.plus(g.product(from, p.at(layer + side + ".weight")),
                          p.at(layer + side + ".bias"));
        };
        Var left = mapped(h, "left");
        Var right = mapped(g.first(h, block.destinations), "right");
        Var sums = g.plus(g.gather(left, pairs.from), g.gather(right, pairs.to));
        Var scores = g.group_sums(g.times(g.map(sums, leaky, leaky_slope), row(layer + "att")),
                                  options.heads);
        return attend(pairs, block, scores, left, last, p.at(layer + "bias"));
    }

    /// (x - mean) / spread by column, the statistics being those of the batch or the running ones.
    Var batch_norm(const std::string& norm, Var x) {
        const auto rows = static_cast<double>(x->rows);
        Var middle = g.scaled(g.column_sums(x), 1 / rows);
        Var centred = g.plus(x, g.scaled(middle, -1));
        Var variance = g.scaled(g.column_sums(g.times(centred, centred)), 1 / rows);
        statistics[norm + "running_mean"] = middle->value;
        statistics[norm + "running_var"] = variance->value;
        for (double& v : statistics[norm + "running_var"])
            v *= rows > 1 ? rows / (rows - 1) : 1;
        if (running) {
            centred = g.plus(x, g.scaled(p.at(norm + "running_mean"), -1));
            variance = p.at(norm + "running_var");
        }
        return g.times(centred, g.map(variance, inverse_spread, inverse_spread_slope));
    }
    Var layer_norm(Var x) {
        const double share = 1 / static_cast<double>(x->columns);
        Var centred = g.plus(x, g.scaled(g.group_sums(x, 1), -share));
        Var variance = g.scaled(g.group_sums(g.times(centred, centred), 1), share);
        return g.times(centred, g.map(variance, inverse_spread, inverse_spread_slope));
    }
    /// Norm, residual and activation of a hidden layer.
    Var between(const std::string& layer, Var before, Var out) {
        const std::string norm = layer + "norm.";
        if (options.norm != "none") {
            out = options.norm == "layer" ? layer_norm(out) : batch_norm(norm, out);
            out = g.plus(g.times(out, p.at(norm + "weight")), p.at(norm + "bias"));
        }
        if (options.residual) {
            Var own = g.first(before, out->rows);
            const auto map = p.find(layer + "residual.weight");
            out = g.plus(out, map == p.end() ? own : g.product(own, map->second));
        }
        return options.model.starts_with("gat") ? g.map(out, elu, elu_slope)
                                                : g.map(out, relu, relu_slope);
    }
    Var convolve(const std::string& layer, const sample::Block& block, Var h, bool last) {
        if (options.model == "gcn") return gcn(layer, block, h);
        if (options.model == "gat") return gat(layer, block, h, last);
        if (options.model == "gatv2") return gatv2(layer, block, h, last);
        return sage(layer, block, h);
    }
    Var input = nullptr;
    Var scores(std::span<const float> rows) {
        Var h = g.input(rows, batch.vertices.size(), options.inputs);
        input = h;
        if (options.input_dropout > 0 && !running)
            h = g.times(h, mask(0, h->rows, h->columns, options.input_dropout));
        for (std::size_t l = 0; l < batch.blocks.size(); ++l) {
            const std::string layer = "layers." + std::to_string(l) + ".";
            const bool last = l + 1 == batch.blocks.size();
            Var out = convolve(layer, batch.blocks[l], h, last);
            h = last ? out : between(layer, h, out);
            if (!last && options.dropout > 0 && !running)
                h = g.times(h, mask(l + 1, h->rows, h->columns, options.dropout));
        }
        return h;
    }
};

/// The loss, whose slopes by the scores it sets.
double loss_of(const nn::NetworkOptions& options, Var scores, const nn::SeedTargets& targets,
               double weight) {
    double loss = 0;
    const std::size_t columns = scores->columns;
    const double share = weight / static_cast<double>(columns);
    for (std::size_t r = 0; r < scores->rows; ++r) {
        const double* y = scores->value.data() + r * columns;
        double* slope = scores->slope.data() + r * columns;
        if (options.objective == nn::Objective::classes) {
            if (targets.classes[r] < 0) continue;
            const auto wanted = static_cast<std::size_t>(targets.classes[r]);
            const double own = weight * (options.class_weights.empty()
                                             ? 1.0
                                             : static_cast<double>(options.class_weights[wanted]));
            double sum = 0;
            for (std::size_t c = 0; c < columns; ++c)
                sum += std::exp(y[c]);
            loss += own * (std::log(sum) - y[wanted]);
            for (std::size_t c = 0; c < columns; ++c)
                slope[c] = own * (std::exp(y[c]) / sum - (c == wanted ? 1 : 0));
            continue;
        }
        for (std::size_t c = 0; c < columns; ++c) {
            const std::size_t i = r * columns + c;
            if (options.objective == nn::Objective::multilabel) {
                loss += share * (std::log1p(std::exp(y[c])) - targets.multilabel[i] * y[c]);
                slope[c] = share * (1 / (1 + std::exp(-y[c])) - targets.multilabel[i]);
            } else {
                const double off = y[c] - static_cast<double>(targets.regression[i]);
                loss += share * off * off;
                slope[c] = share * 2 * off;
            }
        }
    }
    return loss;
}

}  // namespace

Reference reference_network(const nn::NetworkOptions& options,
                            std::span<const nn::Parameter> parameters,
                            std::span<const float> weights, const sample::Batch& batch,
                            std::span<const float> rows, const nn::SeedTargets& targets,
                            float weight, bool running) {
    Graph g;
    Pass pass{g, options, batch, running, {}};
    for (const nn::Parameter& p : parameters) {
        const bool matrix = p.shape.size() == 2;
        const auto high = matrix ? static_cast<std::size_t>(p.shape[0]) : 1;
        pass.p[p.name] = g.input(weights.subspan(p.offset, p.size), high, p.size / high);
    }
    Var scores = pass.scores(rows);
    Reference reference;
    reference.scores = rounded(scores->value);
    reference.loss = loss_of(options, scores, targets, static_cast<double>(weight));
    g.backward();
    reference.rows = rounded(pass.input->slope);
    for (const nn::Parameter& p : parameters) {
        std::vector<double> part = pass.p.at(p.name)->slope;
        if (!p.trained) {
            part = pass.statistics.at(p.name);
            for (double& value : part)
                value *= static_cast<double>(weight) * batch.seeds;
        }
        reference.gradient.insert(reference.gradient.end(), part.begin(), part.end());
    }
    return reference;
}

std::vector<float> reference_mean(const sample::Block& block, std::span<const float> table,
                                  std::size_t columns) {
    Graph g;
    return rounded(mean(g, block, g.input(table, block.sources, columns))->value);
}

std::vector<float> reference_mean_backward(const sample::Block& block,
                                           std::span<const float> gradient, std::size_t columns) {
    Graph g;
    Var table = g.make(block.sources, columns);
    mean(g, block, table)->slope.assign(gradient.begin(), gradient.end());
    g.backward();
    return rounded(table->slope);
}

std::vector<float> reference_optimise(const nn::OptimiserOptions& options,
                                      std::span<const nn::Parameter> parameters,
                                      const std::vector<float>& weights,
                                      const std::vector<std::vector<float>>& gradients,
                                      double rate) {
    std::vector<double> w(weights.begin(), weights.end());
    std::vector<double> first(w.size(), 0.0);
    std::vector<double> second(w.size(), 0.0);
    double step = 0;
    for (const auto& flat : gradients) {
        std::vector<double> gradient(flat.begin(), flat.end());
        double length = 0;
        for (const double x : gradient)
            length += x * x;
        length = std::sqrt(length);
        if (options.clip > 0 && length > options.clip)
            for (double& x : gradient)
                x *= options.clip / (length + 1e-6);
        ++step;
        for (const nn::Parameter& p : parameters) {
            const double decay = p.decays ? options.weight_decay : 0;
            for (std::size_t i = p.offset; i < p.offset + p.size; ++i) {
                if (options.name == "adamw")
                    w[i] *= 1 - rate * decay;
                else
                    gradient[i] += decay * w[i];
                if (options.name == "sgd") {
                    first[i] = step == 1 ? gradient[i] : options.momentum * first[i] + gradient[i];
                    w[i] -= rate * first[i];
                    continue;
                }
                first[i] = 0.9 * first[i] + 0.1 * gradient[i];
                second[i] = 0.999 * second[i] + 0.001 * gradient[i] * gradient[i];
                const double spread = std::sqrt(second[i] / (1 - std::pow(0.999, step))) + 1e-8;
                w[i] -= rate * first[i] / (1 - std::pow(0.9, step)) / spread;
            }
        }
    }
    return rounded(w);
}

}  // namespace rudder::testing
