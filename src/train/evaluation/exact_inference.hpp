// One pass of exact inference: layer by layer, part by part, chunk by chunk.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/nn/network.hpp"
#include "store/feature_store.hpp"

#include "exact_evaluator.hpp"
#include "exact_input.hpp"
#include "exact_plan.hpp"
#include "exact_scores.hpp"

namespace rudder::train {

/// Memory of inference, in pieces that grow.
struct ExactMemory {
    std::shared_ptr<Array<float>> present;  ///< the layer's input: own rows
    std::shared_ptr<Array<float>> next;     ///< its output
    std::shared_ptr<Array<float>> mapped;   ///< what is read of own rows, where that is not they
    std::shared_ptr<Array<float>> kept;     ///< rows of other ranks
    std::shared_ptr<Array<float>> answers;  ///< of a chunk of the last layer
    std::shared_ptr<Array<float>> own;      ///< features of some own vertices
    std::shared_ptr<Array<float>> sums;     ///< of the first layer, of all own vertices
    bool summed = false;                    ///< they are there
    std::vector<ChunkSlot> slots;
    std::vector<std::uint32_t> positions;
    RawVector<VertexId> ids;
    RawVector<std::uint32_t> degrees;
};

/// What inference runs on; all of it outlives it.
struct ExactGround {
    const comm::Communicator& comm;
    const RankRanges& ranges;
    std::span<const ChunkedPart> parts;
    std::span<const Array<std::uint32_t>> degrees;  ///< by part and local id; none: nobody asks
    const ExactPlan& plan;
    const nn::NetworkOptions& options;
    const store::FeatureStore& store;
    const TargetReading& reading;
};

class Inference {
public:
    Inference(const ExactGround& ground, nn::Network& network, ExactMemory& memory,
              const InferenceSink& sink)
        : g_(ground), network_(network), memory_(memory), sink_(sink) {}

    /// Collective: the scores of all ranks' parts, added in the order of the parts.
    PartScores run();

private:
    void run_layer(std::size_t layer);
    void read_layer(std::size_t layer);
    void map_own(std::size_t layer);
    void run_part(std::size_t layer, std::size_t index, LayerInput& input);
    void run_summed(std::size_t index);
    void compute(std::size_t layer, std::size_t index, const ExactChunk& chunk, nn::LayerRows rows);
    void gather_degrees(std::size_t index, const ExactChunk& chunk);
    void take_scores(std::size_t index, const ExactChunk& chunk, std::span<const float> scores);
    [[nodiscard]] nn::InputRows own_features(VertexId first, std::size_t count);
    [[nodiscard]] nn::InputRows own_rows(std::size_t layer, std::size_t index,
                                         const ChunkSlot& slot);

    [[nodiscard]] std::size_t own() const noexcept { return g_.ranges.here().size(); }
    [[nodiscard]] std::span<const float> present(std::size_t layer) const {
        return memory_.present->span().subspan(0, own() * network_.layer_inputs(layer));
    }
    [[nodiscard]] bool maps(std::size_t layer) const { return network_.maps_rows(layer); }
    [[nodiscard]] bool last(std::size_t layer) const { return layer + 1 == network_.layers(); }
    [[nodiscard]] std::size_t row_of(const partition::Part& part, LocalId v) const noexcept {
        return part.range().begin - g_.ranges.here().begin + v;
    }
    /// Own vertices whose features are brought together at a time.
    [[nodiscard]] std::size_t tile_rows() const noexcept;

    ExactGround g_;
    nn::Network& network_;
    ExactMemory& memory_;
    const InferenceSink& sink_;
    std::vector<PartScores> scores_;
};

}  // namespace rudder::train
