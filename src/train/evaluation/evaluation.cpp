#include "evaluation.hpp"

#include <algorithm>

#include "train/types.hpp"

namespace rudder::train {

namespace {

/// Each seed has its own past, so that layers of the whole graph are of no use: exact is then all
/// of the past, seed by seed.
std::vector<std::int32_t> evaluated_fanout(const TrainOptions& options) {
    if (options.eval != "exact") return options.fanout;
    return std::vector<std::int32_t>(options.fanout.size(), -1);
}

}  // namespace

RankingOptions ranking_of(const TrainOptions& options) noexcept {
    return {.others = options.links.eval_negatives,
            .filtered = !options.links.unfiltered,
            .seed = options.seed};
}

Evaluation::Evaluation(const Ground& ground, Learner& learner)
    : network_options_(learner.options()) {
    const TrainOptions& o = ground.options;
    const bool degrees = learner.network().wants_degrees();
    if (o.eval_every == 0) return;
    const bool timed = o.temporal != sample::Temporal::off;
    if (o.eval == "exact" && !timed) {
        const auto ranks = static_cast<std::uint64_t>(ground.comm.host().size());
        const ExactEvaluator::Options exact{.network = network_options_,
                                            .memory = o.memory == 0 ? 0 : o.memory / 4 / ranks,
                                            .degrees = degrees,
                                            // Learned rows are others each time.
                                            .again = ground.store.learned().empty(),
                                            .weighted = o.weighted};
        if (ground.links == nullptr) {
            exact_ = std::make_unique<ExactEvaluator>(ground.comm, ground.data, ground.parts,
                                                      ground.store, exact);
        } else {
            links_ = std::make_unique<LinkEvaluator>(
                ground.comm, ground.data, ground.parts, ground.links->divided, ground.store,
                LinkEvaluator::Options{.exact = exact,
                                       .ranking = ranking_of(o),
                                       .given = ground.links->given_pairs(),
                                       .symmetric = ground.links->symmetric,
                                       .types = ground.links->edge_types(),
                                       .among = &ground.links->targets});
        }
        return;
    }
    if (o.eval == "exact") all_types_ = all_neighbours(ground.types.get());
    sampled_ = std::make_unique<SampledEvaluator>(
        ground.comm, ground.parts, *ground.source, ground.store,
        SampledEvaluator::Options{
            .fanout = evaluated_fanout(o),
            .batch = o.batch,
            .seed = o.seed,
            .objective = network_options_.objective,
            .outputs = network_options_.outputs,
            .degrees = degrees,
            .weighted = o.weighted,
            .edge_features = ground.edge_features(),
            .temporal = o.temporal,
            .times = &ground.times,
            .types = all_types_ != nullptr ? all_types_.get() : ground.types.get()});
}

void Evaluation::start(std::span<const float> weights) {
    pending_ = true;
    weights_.assign(weights.begin(), weights.end());
    if (exact_ != nullptr) {
        exact_->start(weights_);
        return;
    }
    if (links_ != nullptr) {
        links_->start(weights_);
        return;
    }
    if (network_ == nullptr) network_ = nn::make_network(network_options_);
    std::ranges::copy(weights_, network_->weights().begin());
    scores_ = {};
    sampled_->evaluate(*network_, scores_);
}

Scores Evaluation::finish() {
    pending_ = false;
    if (links_ != nullptr) return links_->finish();
    return exact_ != nullptr ? exact_->finish() : scores_;
}

std::uint64_t Evaluation::planned_bytes() const noexcept {
    if (links_ != nullptr) return links_->planned_bytes();
    return exact_ == nullptr ? 0 : exact_->planned_bytes();
}

}  // namespace rudder::train
