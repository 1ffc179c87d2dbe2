#include "inference.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/packed.hpp"
#include "rudder/core/error.hpp"
#include "train/evaluation/evaluation.hpp"
#include "train/ground.hpp"
#include "train/input_rows.hpp"
#include "train/learned/learned_table.hpp"
#include "train/prediction/seed_inference.hpp"
#include "train/types.hpp"

#include "last_rows.hpp"

namespace rudder::train {

namespace {

/// What ranks are told of a network before its weights.
struct NetworkFacts {
    std::uint64_t step = 0;
    std::uint32_t epoch = 0;
    std::uint64_t weights = 0;

    static constexpr auto fields =
        unnamed_fields(&NetworkFacts::step, &NetworkFacts::epoch, &NetworkFacts::weights);
};
static_assert(lists_all_fields<NetworkFacts>);

}  // namespace

void share_network(const comm::Communicator& comm, SavedNetwork& saved) {
    auto bytes = packed(NetworkFacts{saved.step, saved.epoch, saved.weights.size()});
    comm.broadcast(0, std::span(bytes));
    const auto facts = unpacked<NetworkFacts>(bytes);
    saved.step = facts.step;
    saved.epoch = facts.epoch;
    saved.weights.resize(facts.weights);
    comm.broadcast(0, std::span(saved.weights));
}

std::unique_ptr<nn::Network> network_of(const SavedNetwork& saved,
                                        const std::optional<nn::SparseInputs>& sparse) {
    nn::NetworkOptions options = saved.options;
    options.sparse = sparse;
    std::unique_ptr<nn::Network> network = nn::make_network(options);
    if (network->weights().size() != saved.weights.size()) {
        throw input_error(fmt::format("it holds {} weights, and such a network has {}",
                                      saved.weights.size(), network->weights().size()),
                          saved.checkpoint.string(), "use the checkpoint before it");
    }
    std::ranges::copy(saved.weights, network->weights().begin());
    return network;
}

namespace {

/// Collective: where each vertex sees its own past alone.
void infer_past(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                const SavedNetwork& saved, std::span<const partition::Part> parts,
                const store::FeatureStore& store, const nn::NetworkOptions& options,
                const TargetReading& reading, InferenceResult& result, const InferenceSink& sink) {
    const auto source = make_source(comm, data, parts, saved.train, nullptr);
    const std::unique_ptr<nn::Network> network = network_of(saved, options.sparse);
    const Duration start = Executor::current().now();
    const auto types = all_neighbours(typed_sampling(data, saved.train).get());
    const PartScores sums =
        infer_by_seed({comm, parts, *source, store, saved.train, options, reading,
                       read_edge_features(saved.train, data.info()), types.get()},
                      *network, sink);
    result.seconds = std::chrono::duration<double>(Executor::current().now() - start).count();
    result.scored = sums.vertices;
    result.unknown = sums.unknown;
    result.scores.train = sums.roles[0];
    result.scores.valid = sums.roles[1];
    result.scores.test = sums.roles[2];
    result.scores.evaluated = true;
    source->stop();
}

/// Collective: the ranks of links that the network was not trained on, or what edges score.
void infer_links(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                 const SavedNetwork& saved, std::span<const partition::Part> parts,
                 const store::FeatureStore& store, const ExactEvaluator::Options& exact,
                 bool same_data, InferenceResult& result) {
    TrainOptions train = saved.train;
    if (!same_data && !train.links.negatives_from.empty()) {
        train.links.negatives_from.clear();  // its pairs are of the run's own data set
        if (comm.rank() == 0) {
            log::warning(
                "links are ranked among drawn pairs: the run's own pairs belong to its data set");
        }
    }
    const auto links = divide(comm, data, parts, train);
    LinkEvaluator evaluator(comm, data, parts, links->divided, store,
                            {.exact = exact,
                             .ranking = ranking_of(saved.train),
                             .given = links->given_pairs(),
                             .symmetric = links->symmetric,
                             .types = links->edge_types(),
                             .among = &links->targets});
    const std::unique_ptr<nn::Network> network = network_of(saved, exact.network.sparse);
    const Duration start = Executor::current().now();
    evaluator.evaluate(*network, result.scores);
    result.seconds = std::chrono::duration<double>(Executor::current().now() - start).count();
    result.scored = evaluator.scored();
    result.unknown = evaluator.unknown();
    result.planned_bytes = evaluator.planned_bytes();
}

}  // namespace

InferenceResult run_inference(const comm::Communicator& comm,
                              const partition::PartitionedDataset& data, const SavedNetwork& saved,
                              const InferenceOptions& options, const InferenceSink& sink) {
    check_carried(data, saved.train);
    const std::vector<partition::Part> parts = open_parts(comm, data, options.verify);
    store::FeatureStore store(comm, data, store_options(saved, data, options.match));
    place_learned(comm, data, store, saved.rows, saved.checkpoint.string());
    nn::NetworkOptions made = saved.options;
    made.sparse = sparse_inputs(store.format());
    InferenceResult result;
    if (saved.train.temporal != sample::Temporal::off) {
        infer_past(comm, data, saved, parts, store, made, options.match.reading, result, sink);
        store.stop();
        return result;
    }
    const auto on_host = static_cast<std::uint64_t>(comm.host().size());
    const ExactEvaluator::Options exact{.network = made,
                                        .memory = options.memory / on_host,
                                        .degrees = nn::model_wants_degrees(saved.options.model),
                                        .weighted = saved.train.weighted,
                                        .reading = options.match.reading};
    if (saved.options.pairs) {
        infer_links(comm, data, saved, parts, store, exact, options.match.same, result);
        store.stop();
        return result;
    }
    ExactEvaluator evaluator(comm, data, parts, store, exact);
    const std::unique_ptr<nn::Network> network = network_of(saved, made.sparse);
    const Duration start = Executor::current().now();
    evaluator.evaluate(*network, result.scores, sink);
    result.seconds = std::chrono::duration<double>(Executor::current().now() - start).count();
    result.scored = evaluator.scored();
    result.unknown = evaluator.unknown();
    result.planned_bytes = evaluator.planned_bytes();
    store.stop();
    return result;
}

}  // namespace rudder::train
