#include "trainer_state.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/span.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"
#include "train/steps/class_weights.hpp"
#include "train/steps/record_book.hpp"
#include "train/steps/seed_targets.hpp"
#include "train/steps/steering.hpp"

namespace rudder::train {

namespace {

std::vector<partition::Part> open_parts(const comm::Communicator& comm,
                                        const partition::PartitionedDataset& data,
                                        partition::PartShare share, bool verify) {
    const Span span("opening parts");
    std::vector<partition::Part> parts;
    comm::do_together(comm, [&] {
        for (PartId p = share.first; p < share.last; ++p) {
            parts.push_back(data.part(p));
            if (verify) static_cast<void>(parts.back().check(data.info().vertices));
        }
    });
    return parts;
}

std::unique_ptr<sample::NeighbourSource> make_source(const comm::Communicator& comm,
                                                     const partition::PartitionedDataset& data,
                                                     std::span<const partition::Part> parts,
                                                     const TrainOptions& options,
                                                     std::uint64_t memory) {
    const Span span("placing the topology");
    TopologyChoice choice = options.topology;
    if (choice == TopologyChoice::choose) {
        const std::uint64_t bytes =
            sample::replicated_bytes(data.info().vertices, data.info().edges);
        // All ranks must choose the same, so the host with least memory decides.
        const std::int64_t fits = comm.all_min(bytes <= memory / 4 ? 1 : 0);
        choice = fits == 1 ? TopologyChoice::replicated : TopologyChoice::partitioned;
    }
    if (choice == TopologyChoice::replicated)
        return sample::make_replicated_source(comm, data.book(), parts);
    return sample::make_partitioned_source(comm, data.book(), parts,
                                           nn::model_wants_degrees(options.model));
}

nn::NetworkOptions network_options_of(const TrainOptions& o, const graph::DatasetInfo& info,
                                      nn::Objective objective, std::vector<float> weights) {
    return {.model = o.model,
            .objective = objective,
            .inputs = info.features.width,
            .hidden = o.hidden,
            .outputs = info.targets.count,
            .layers = o.layers,
            .dropout = o.dropout,
            .input_dropout = o.input_dropout,
            .heads = o.heads,
            .norm = o.norm,
            .residual = o.residual,
            .class_weights = std::move(weights),
            .seed = o.seed};
}

std::uint64_t memory_of_host(const TrainOptions& options) {
    return options.memory != 0 ? options.memory : memory_info().available;
}

/// Checked before anything is opened or sent.
const TrainOptions& checked(const TrainOptions& options) {
    check_options(options);
    return options;
}

}  // namespace

Trainer::State::State(const comm::Communicator& c, const partition::PartitionedDataset& d,
                      const TrainOptions& o)
    : comm(c),
      before(open_accounts(c)),
      data(d),
      options(checked(o)),
      share(partition::share_of(d.parts(), c.size(), c.rank())),
      parts(open_parts(c, d, share, o.verify)),
      schedule(c, parts, d.parts(), {.batch = o.batch, .order = o.seed_order, .seed = o.seed}),
      source(make_source(c, d, parts, o, memory_of_host(o))),
      store(c, d, {.precision = o.precision, .shards = o.shards, .bulk = o.bulk}),
      buffer(set_up_buffer({comm, data, parts, schedule, *source, store, options, sampler_options(),
                            memory_of_host(options)})),
      objective(objective_of(d.info(), d.folder().path().string())),
      network_options(network_options_of(o, d.info(), objective,
                                         class_weights(o.class_weights, c, parts, d.info()))),
      network(nn::make_network(network_options)),
      optimiser(nn::make_optimiser(o.optimiser, network->parameters())),
      learning_rate(o.lr_schedule, o.warmup),
      exchange(c, share, d.parts(), network->weights().size(), network->buckets(),
               Steering::extra_floats(o)) {
    steering = Steering::make(*this, schedule.steps_per_epoch() * o.epochs);
    if (o.eval_every == 0) return;
    if (o.eval == "exact") {
        const std::uint64_t ranks = static_cast<std::uint64_t>(comm.host().size());
        exact = std::make_unique<ExactEvaluator>(
            comm, data, parts, store,
            ExactEvaluator::Options{.network = network_options,
                                    .memory = o.memory == 0 ? 0 : o.memory / 4 / ranks,
                                    .degrees = network->wants_degrees()});
        return;
    }
    sampled = std::make_unique<SampledEvaluator>(
        comm, parts, *source, store,
        SampledEvaluator::Options{.fanout = o.fanout,
                                  .batch = o.batch,
                                  .seed = o.seed,
                                  .objective = objective,
                                  .outputs = d.info().targets.count,
                                  .degrees = network->wants_degrees()});
}

sample::SamplerOptions Trainer::State::sampler_options() const {
    return {.fanout = options.fanout,
            .with_replacement = options.with_replacement,
            .seed = options.seed,
            .degrees = nn::model_wants_degrees(options.model)};
}

bool evaluation_due(const TrainOptions& options, std::uint32_t epoch) noexcept {
    const std::uint32_t every = options.eval_every;
    return every != 0 && ((epoch + 1) % every == 0 || epoch + 1 == options.epochs);
}

bool Trainer::State::evaluation_due(std::uint32_t epoch) const noexcept {
    return rudder::train::evaluation_due(options, epoch);
}

void Trainer::State::start_evaluation(std::span<const float> weights) {
    evaluated.assign(weights.begin(), weights.end());
    if (exact != nullptr) {
        exact->start(evaluated);
        return;
    }
    if (evaluated_network == nullptr) evaluated_network = nn::make_network(network_options);
    std::ranges::copy(evaluated, evaluated_network->weights().begin());
    scores = {};
    sampled->evaluate(*evaluated_network, scores);
}

Scores Trainer::State::finish_evaluation() {
    return exact != nullptr ? exact->finish() : scores;
}

std::uint64_t Trainer::State::host_memory() const {
    return memory_of_host(options);
}

std::uint64_t Trainer::State::queue_limit() const {
    // An eighth of the host's memory for batches that wait, shared by its ranks.
    const auto ranks = static_cast<std::uint64_t>(comm.host().size());
    return host_memory() / 8 / ranks;
}

void Trainer::State::stop() {
    comm.barrier();
    source->stop();
    store.stop();
}

Trainer::Trainer(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                 const TrainOptions& options)
    : state_(std::make_unique<State>(comm, data, options)) {}

Trainer::~Trainer() = default;

std::uint64_t Trainer::steps_per_epoch() const noexcept {
    return state_->schedule.steps_per_epoch();
}

const nn::NetworkOptions& Trainer::network_options() const noexcept {
    return state_->network_options;
}

std::span<const float> Trainer::weights() const {
    return state_->network->weights();
}

}  // namespace rudder::train
