// Networks that score pairs of vertices: the weights of the scorer after those of the layers.
#include <cmath>

#include "rudder/core/check.hpp"
#include "rudder/nn/layered_network.hpp"

#include "pair_head.hpp"

namespace rudder::nn {

namespace {

// Parameters of the scorer's network, in this order.
constexpr std::size_t hidden_bias = 1;
constexpr std::size_t out = 2;
constexpr std::size_t out_bias = 3;

}  // namespace

void LayeredNetwork::add_pair_parameters() {
    const PairOptions& o = *options().pairs;
    pairs_ = std::make_unique<PairHead>(o, options().outputs);
    const auto width = static_cast<std::int64_t>(o.width);
    const auto outputs = static_cast<std::int64_t>(options().outputs);
    const auto relations = static_cast<std::int64_t>(o.relations);
    const bool layered = o.scorer == PairScorer::network;
    const double bound = 1 / std::sqrt(static_cast<double>(o.width));
    const auto inputs = static_cast<std::int64_t>(pair_inputs(o));
    const double input_bound = 1 / std::sqrt(static_cast<double>(inputs));
    // At one a relation scores as `dot` does; several begin apart, as embeddings of relations do.
    if (o.scorer == PairScorer::distmult || (layered && o.relations > 1)) {
        pair_parameters_.relation =
            o.relations == 1
                ? add_constant("pairs.relation.weight", {relations, width}, 1)
                : add_parameter("pairs.relation.weight", {relations, width},
                                std::sqrt(6.0 / static_cast<double>(relations + width)), false);
    }
    if (layered) {
        pair_parameters_.hidden =
            add_parameter("pairs.hidden.weight", {width, inputs}, input_bound, true);
        add_parameter("pairs.hidden.bias", {width}, input_bound, false);
        add_parameter("pairs.out.weight", {outputs, width}, bound, true);
        add_parameter("pairs.out.bias", {outputs}, bound, false);
    }
    if (pair_parameters_.any()) end_layer();
}

namespace {

/// The stretch of each weight of a scorer, as `of` gives it.
template <class Result, class Relation, class Hidden, class Of>
Result stretches(const Relation& relation, const Hidden& hidden, Of&& of) {
    Result all;
    if (relation) all.relation = of(*relation);
    if (!hidden) return all;
    all.hidden = of(*hidden);
    all.hidden_bias = of(*hidden + hidden_bias);
    all.out = of(*hidden + out);
    all.out_bias = of(*hidden + out_bias);
    return all;
}

}  // namespace

LossSums LayeredNetwork::pair_loss(const SeedTargets& targets, float weight,
                                   std::span<float> gradient) {
    const auto& [relation, hidden] = pair_parameters_;
    const auto weights = stretches<PairWeights>(
        relation, hidden, [&](std::size_t p) { return std::as_const(*this).weights_of(p); });
    const auto gradients = stretches<PairGradients>(
        relation, hidden, [&](std::size_t p) { return place(gradient, p); });
    return pairs_->train(options().objective, view(layers() - 1).out, targets, weight, weights,
                         options().class_weights, gradients);
}

void LayeredNetwork::score_pairs(const ConstMatrix& rows, const SeedPairs& pairs,
                                 std::span<float> scores) {
    RUDDER_CHECK(pairs_ != nullptr);
    const auto& [relation, hidden] = pair_parameters_;
    const auto weights = stretches<PairWeights>(
        relation, hidden, [&](std::size_t p) { return std::as_const(*this).weights_of(p); });
    pairs_->score(rows, pairs, weights, scores);
}

}  // namespace rudder::nn
