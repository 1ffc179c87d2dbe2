#include "inference.hpp"

#include <chrono>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "train/ground.hpp"
#include "train/input_rows.hpp"
#include "train/steps/seed_targets.hpp"

namespace rudder::train {

namespace {

std::string_view name_of(nn::Objective objective) noexcept {
    switch (objective) {
        case nn::Objective::classes:
            return "classes";
        case nn::Objective::multilabel:
            return "several labels";
        case nn::Objective::regression:
            break;
    }
    return "numbers";
}

/// What of a data set's shape the network was not made for.
std::vector<std::string> differences(const nn::NetworkOptions& network,
                                     const partition::PartitionedDataset& data) {
    std::vector<std::string> found;
    const graph::DatasetInfo& info = data.info();
    const auto compare = [&](const char* what, std::uint64_t run, std::uint64_t here) {
        if (run != here)
            found.push_back(fmt::format("{}: {} in the run, {} here", what, run, here));
    };
    compare("feature columns", network.inputs, info.features.width);
    compare("outputs", network.outputs, info.targets.count);
    if (info.targets.kind == graph::TargetKind::none) {
        found.emplace_back("it has no targets");
    } else if (const nn::Objective here = objective_of(info, ""); here != network.objective) {
        found.push_back(fmt::format("targets: {} in the run, {} here", name_of(network.objective),
                                    name_of(here)));
    }
    return found;
}

}  // namespace

std::string data_checksum(const partition::PartitionedDataset& data) {
    const std::string manifest = data.folder().manifest().dump();
    return to_hex(hash_bytes(std::as_bytes(std::span(manifest))));
}

void check_same_data(const SavedNetwork& saved, const partition::PartitionedDataset& data) {
    auto found = differences(saved.options, data);
    const std::string here = data_checksum(data);
    if (here != saved.data_checksum) {
        found.push_back(fmt::format("checksum: {} in the run, {} here", saved.data_checksum, here));
    }
    if (found.empty()) return;
    throw input_error(fmt::format("the run was trained on another data set ('{}'): {}", saved.data,
                                  fmt::join(found, "; ")),
                      data.folder().path().string(),
                      "give the partitioned data set that the run was trained on (--data PATH)");
}

void share_network(const comm::Communicator& comm, SavedNetwork& saved) {
    std::array<std::uint64_t, 3> facts{saved.step, saved.epoch, saved.weights.size()};
    comm.broadcast(0, std::span<std::uint64_t>(facts));
    saved.step = facts[0];
    saved.epoch = static_cast<std::uint32_t>(facts[1]);
    saved.weights.resize(facts[2]);
    comm.broadcast(0, std::span(saved.weights));
}

InferenceResult run_inference(const comm::Communicator& comm,
                              const partition::PartitionedDataset& data, const SavedNetwork& saved,
                              const InferenceOptions& options, const InferenceSink& sink) {
    const std::vector<partition::Part> parts = open_parts(comm, data, options.verify);
    store::FeatureStore store(comm, data,
                              {.precision = saved.train.precision,
                               .shards = saved.train.shards,
                               .sparse = saved.train.sparse,
                               .assembled = assembled_for(saved.options.model)});
    nn::NetworkOptions made = saved.options;
    made.sparse = sparse_inputs(store.format());
    const auto on_host = static_cast<std::uint64_t>(comm.host().size());
    ExactEvaluator evaluator(comm, data, parts, store,
                             {.network = made,
                              .memory = options.memory / on_host,
                              .degrees = nn::model_wants_degrees(saved.options.model)});
    const std::unique_ptr<nn::Network> network = nn::make_network(made);
    if (network->weights().size() != saved.weights.size()) {
        throw input_error(fmt::format("it holds {} weights, and such a network has {}",
                                      saved.weights.size(), network->weights().size()),
                          saved.checkpoint.string(), "use the checkpoint before it");
    }
    std::ranges::copy(saved.weights, network->weights().begin());
    InferenceResult result;
    const Duration start = Executor::current().now();
    evaluator.evaluate(*network, result.scores, sink);
    result.seconds = std::chrono::duration<double>(Executor::current().now() - start).count();
    result.scored = evaluator.scored();
    result.planned_bytes = evaluator.planned_bytes();
    store.stop();
    return result;
}

}  // namespace rudder::train
