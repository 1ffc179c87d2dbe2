#include "trainer_state.hpp"

#include <fmt/format.h>

#include "rudder/comm/together.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/span.hpp"
#include "rudder/core/system.hpp"
#include "rudder/train/seed_targets.hpp"

namespace rudder {

namespace {

std::vector<Part> open_parts(const Communicator& comm, const PartitionedDataset& data,
                             PartShare share, bool verify) {
    const Span span("opening parts");
    std::vector<Part> parts;
    do_together(comm, [&] {
        for (PartId p = share.first; p < share.last; ++p) {
            parts.push_back(data.part(p));
            if (verify) static_cast<void>(parts.back().check(data.info().vertices));
        }
    });
    return parts;
}

std::unique_ptr<NeighbourSource> make_source(const Communicator& comm,
                                             const PartitionedDataset& data,
                                             std::span<const Part> parts, TopologyChoice choice,
                                             std::uint64_t memory) {
    const Span span("placing the topology");
    if (choice == TopologyChoice::choose) {
        const std::uint64_t bytes = replicated_bytes(data.info().vertices, data.info().edges);
        // All ranks must choose the same, so the host with least memory decides.
        const std::int64_t fits = comm.all_min(bytes <= memory / 4 ? 1 : 0);
        choice = fits == 1 ? TopologyChoice::replicated : TopologyChoice::partitioned;
    }
    if (choice == TopologyChoice::replicated)
        return make_replicated_source(comm, data.book(), parts);
    return make_partitioned_source(comm, data.book(), parts);
}

NetworkOptions network_options(const TrainOptions& o, const DatasetInfo& info,
                               Objective objective) {
    return {.model = o.model,
            .objective = objective,
            .inputs = info.features.width,
            .hidden = o.hidden,
            .outputs = info.targets.count,
            .layers = o.layers,
            .dropout = o.dropout,
            .input_dropout = o.input_dropout,
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

Trainer::State::State(const Communicator& c, const PartitionedDataset& d, const TrainOptions& o)
    : comm(c),
      before(c.accounts()),
      data(d),
      options(checked(o)),
      share(share_of(d.parts(), c.size(), c.rank())),
      parts(open_parts(c, d, share, o.verify)),
      schedule(c, parts, d.parts(), {.batch = o.batch, .order = o.seed_order, .seed = o.seed}),
      source(make_source(c, d, parts, o.topology, memory_of_host(o))),
      store(c, d, {.precision = o.precision, .shards = o.shards}),
      buffer(set_up_buffer({comm, data, parts, schedule, *source, store, options, sampler_options(),
                            memory_of_host(options)})),
      objective(objective_of(d.info(), d.folder().path().string())),
      network(make_network(network_options(o, d.info(), objective))),
      optimiser(make_optimiser(o.optimiser, network->parameters())),
      learning_rate(o.lr_schedule, o.warmup),
      exchange(c, share, d.parts(), network->weights().size(), network->buckets()),
      evaluator(std::make_unique<SampledEvaluator>(
          comm, parts, *source, store,
          SampledEvaluator::Options{.fanout = o.fanout,
                                    .batch = o.batch,
                                    .seed = o.seed,
                                    .objective = objective,
                                    .outputs = d.info().targets.count})) {}

SamplerOptions Trainer::State::sampler_options() const {
    return {.fanout = options.fanout,
            .with_replacement = options.with_replacement,
            .seed = options.seed};
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

Trainer::Trainer(const Communicator& comm, const PartitionedDataset& data,
                 const TrainOptions& options)
    : state_(std::make_unique<State>(comm, data, options)) {}

Trainer::~Trainer() = default;

std::span<const float> Trainer::weights() const {
    return state_->network->weights();
}

}  // namespace rudder
