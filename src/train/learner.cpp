#include "learner.hpp"

#include <algorithm>

#include "comm/together.hpp"
#include "core/span.hpp"
#include "nn/gpu/device_learning.hpp"
#include "rudder/core/error.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/device_choice.hpp"
#include "train/input_rows.hpp"
#include "train/steps/class_weights.hpp"
#include "train/steps/seed_targets.hpp"
#include "train/types.hpp"

namespace rudder::train {

namespace {

std::vector<float> class_weights_of(const Ground& ground) {
    const std::string& name = ground.options.class_weights;
    if (ground.options.task != TaskKind::edge)
        return class_weights(name, ground.comm, ground.parts, ground.data.info());
    return edge_class_weights(name, ground.comm, ground.parts, ground.links->divided.links);
}

nn::NetworkOptions network_options_of(const Ground& ground) {
    const TrainOptions& o = ground.options;
    const graph::DatasetInfo& info = ground.store.info();
    std::optional<nn::PairOptions> pairs;
    const bool links = o.task == TaskKind::link;
    if (links) pairs = {.scorer = o.links.scorer, .loss = o.links.loss, .width = o.hidden};
    if (o.task == TaskKind::edge) {
        // Of a graph without directions nobody knows which end is the first.
        pairs = {.scorer = nn::PairScorer::network,
                 .width = o.hidden,
                 .input = info.symmetric ? nn::PairInput::sums : nn::PairInput::rows};
    }
    const graph::TargetInfo& targets = learned_targets(o.task, info);
    return {.model = o.model,
            .objective = links
                             ? nn::Objective::links
                             : objective_of(o.task, targets, ground.data.folder().path().string()),
            .inputs = info.rows().width,
            .hidden = o.hidden,
            .outputs = links ? 1 : targets.count,
            .layers = o.layers,
            .dropout = o.dropout,
            .input_dropout = o.input_dropout,
            .heads = o.heads,
            .norm = o.norm,
            .residual = o.residual,
            .class_weights = class_weights_of(ground),
            .seed = o.seed,
            .sparse = sparse_inputs(ground.store.format()),
            .row_gradients = !ground.store.learned().empty(),
            .pairs = pairs,
            .types = typed_inputs(info),
            .bases = o.bases,
            .edge_inputs = ground.edge_features().width};
}

}  // namespace

Learner::Learner(const Ground& ground)
    : ground_(ground),
      options_(network_options_of(ground)),
      device_(choose_device(ground, options_)),
      learning_rate_(ground.options.lr_schedule, ground.options.warmup) {
    if (device_ != nullptr) {
        nn::DeviceLearning made =
            nn::make_device_learning(device_, options_, ground.options.optimiser);
        network_ = std::move(made.network);
        optimiser_ = std::move(made.optimiser);
        return;
    }
    network_ = nn::make_network(options_);
    optimiser_ = nn::make_optimiser(ground.options.optimiser, network_->parameters());
}

double Learner::rate(std::uint64_t step, double factor) const {
    return ground_.options.optimiser.learning_rate * factor *
           learning_rate_.factor(step, ground_.steps(), ground_.schedule.steps_per_epoch());
}

void Learner::update(std::uint64_t step, std::span<float> gradient, double factor) {
    const Span span("updating", step);
    network_->absorb_statistics(gradient);
    optimiser_->step(network_->weights(), gradient, rate(step, factor));
}

TrainedOn Learner::trained_on() const {
    return train::trained_on(ground_.options.task, ground_.data.info());
}

std::vector<nn::Parameter> Learner::parameters() const {
    const auto parameters = network_->parameters();
    return {parameters.begin(), parameters.end()};
}

void Learner::save(Checkpoint& checkpoint) const {
    checkpoint.parameters = parameters();
    copy_floats(weights(), checkpoint.weights);
    const auto memory = optimiser_->memory();
    checkpoint.memory.resize(memory.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
        checkpoint.memory[i].name = memory[i].name;
        copy_floats(memory[i].values, checkpoint.memory[i].values);
    }
    checkpoint.optimiser_steps = optimiser_->steps();
}

void Learner::restore(const Checkpoint* checkpoint) {
    std::vector<float> values;
    const auto take = [&](const std::vector<float>* saved, std::span<float> target) {
        if (checkpoint != nullptr) values = *saved;
        comm::share(ground_.comm, values);
        RUDDER_CHECK(values.size() == target.size());
        std::ranges::copy(values, target.begin());
    };
    take(checkpoint == nullptr ? nullptr : &checkpoint->weights, network_->weights());
    network_->weights_written();
    for (const nn::Optimiser::Memory& memory : optimiser_->memory()) {
        const std::vector<float>* saved = nullptr;
        if (checkpoint != nullptr) {
            const auto found =
                std::ranges::find(checkpoint->memory, memory.name, &NamedFloats::name);
            RUDDER_CHECK(found != checkpoint->memory.end());
            saved = &found->values;
        }
        take(saved, memory.values);
    }
    std::uint64_t steps = checkpoint == nullptr ? 0 : checkpoint->optimiser_steps;
    ground_.comm.broadcast(0, std::span(&steps, 1));
    optimiser_->set_steps(steps);
}

}  // namespace rudder::train
