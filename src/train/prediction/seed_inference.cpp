#include "seed_inference.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "rudder/core/array.hpp"
#include "sample/sampler.hpp"
#include "train/evaluation/exact_chunks.hpp"
#include "train/input_rows.hpp"

namespace rudder::train {

namespace {

/// Some vertices of a part at a time: losses are summed within such a group first.
class SeedGroups {
public:
    SeedGroups(const SeedInferenceGround& ground, nn::Network& network)
        : g_(ground),
          network_(network),
          times_(ground.parts),
          sampler_(ground.source,
                   {.fanout = std::vector<std::int32_t>(ground.train.fanout.size(), -1),
                    .seed = ground.train.seed,
                    .purpose = Purpose::evaluate,
                    .kind = comm::Kind::evaluation,
                    .weighted = ground.train.weighted,
                    .edge_features = ground.edge_features,
                    .temporal = ground.train.temporal,
                    .times = &times_,
                    .types = ground.types}) {}

    /// The answers on `count` own vertices from `first` on, until the next call.
    [[nodiscard]] std::span<const float> infer(const partition::Part& part, LocalId first,
                                               std::size_t count) {
        seeds_.resize(count);
        std::iota(seeds_.begin(), seeds_.end(), part.range().begin + first);
        sampler_.sample({.step = first / group_rows, .part = part.id()}, seeds_, batch_);
        const std::size_t floats = batch_.vertices.size() * g_.store.format().row_floats();
        if (rows_.size() < floats) rows_ = Array<float>::uninitialised(floats);
        const std::span<float> rows = rows_.span().subspan(0, floats);
        const store::RowsWanted wanted{batch_.vertices, rows, batch_.distinct()};
        static_cast<void>(g_.store.pull(std::span(&wanted, 1), comm::Kind::evaluation).wait());
        scores_.resize(count * g_.network.outputs);
        network_.predict(batch_, input_rows(g_.store.format(), rows), scores_);
        return scores_;
    }

private:
    const SeedInferenceGround& g_;
    nn::Network& network_;
    sample::SeedTimes times_;
    sample::NeighbourSampler sampler_;
    std::vector<VertexId> seeds_;
    sample::Batch batch_;
    Array<float> rows_;
    std::vector<float> scores_;
};

}  // namespace

PartScores infer_by_seed(const SeedInferenceGround& ground, nn::Network& network,
                         const InferenceSink& sink) {
    SeedGroups groups(ground, network);
    std::vector<PartScores> own(ground.parts.size());
    for (std::size_t p = 0; p < ground.parts.size(); ++p) {
        const partition::Part& part = ground.parts[p];
        for (std::size_t first = 0; first < part.own(); first += group_rows) {
            const std::size_t count = std::min<std::size_t>(group_rows, part.own() - first);
            const auto local = static_cast<LocalId>(first);
            const std::span<const float> scores = groups.infer(part, local, count);
            add_scores(part, {ground.network.objective, ground.network.outputs, ground.reading},
                       local, scores, own[p]);
            if (sink) sink({part, local, count, scores, {}});
        }
    }
    // Rank by rank is part by part: the sums have the same bits however the parts are spread.
    PartScores sums;
    for (const auto& rank :
         ground.comm.all_gather(std::span<const PartScores>(own), comm::Kind::evaluation)) {
        for (const PartScores& part : rank)
            sums += part;
    }
    return sums;
}

}  // namespace rudder::train
