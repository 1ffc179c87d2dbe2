#include "last_rows.hpp"

#include <algorithm>

#include "train/input_rows.hpp"
#include "train/learned/learned_options.hpp"

namespace rudder::train {

store::StoreOptions store_options(const SavedNetwork& saved,
                                  const partition::PartitionedDataset& data,
                                  const DataMatch& match) {
    const std::string& embeddings = saved.train.embeddings;
    return {.precision =
                match.same ? saved.train.precision : precision_elsewhere(saved.train.precision),
            .shards = saved.train.shards,
            .sparse = saved.options.types || !embeddings.empty() ? store::SparseChoice::off
                                                                 : saved.train.sparse,
            .assembled = assembled_for(saved.options.model),
            .learned = learned_widths(embeddings, data.info())};
}

Array<float> last_rows(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                       const SavedNetwork& saved, std::span<const partition::Part> parts,
                       nn::Network& network, const store::FeatureStore& store,
                       const InferenceOptions& options, InferenceResult& result) {
    nn::NetworkOptions made = saved.options;
    made.sparse = sparse_inputs(store.format());
    const auto on_host = static_cast<std::uint64_t>(comm.host().size());
    ExactEvaluator evaluator(comm, data, parts, store,
                             {.network = made,
                              .memory = options.memory / on_host,
                              .degrees = nn::model_wants_degrees(saved.options.model),
                              .weighted = saved.train.weighted});
    const std::size_t columns = network.layer_outputs(network.layers() - 1);
    const RankRanges ranges = ranges_of(comm, data);
    auto memory = Array<float>::uninitialised(ranges.here().size() * columns);
    evaluator.evaluate(network, result.scores, [&](const InferredRows& rows) {
        const VertexId first = rows.part.range().begin + rows.first - ranges.here().begin;
        std::ranges::copy(rows.scores, memory.data() + first * columns);
    });
    result.planned_bytes = evaluator.planned_bytes() + memory.size() * sizeof(float);
    return memory;
}

}  // namespace rudder::train
