// Graph attention: scores are sums of what source and destination, and maybe edges, contribute.
#include "attention_network.hpp"
#include "edge_rows.hpp"
#include "scratch.hpp"

namespace rudder::nn {

namespace {

/// What a layer has beside what all attention has.
struct GatLayer {
    std::size_t source_vector = 0;
    std::size_t destination_vector = 0;
    float* vectors = nullptr;  ///< of sources, then of destinations
    float* source_scores = nullptr;
    float* destination_scores = nullptr;
    float* source_sums = nullptr;
    float* destination_sums = nullptr;
    // Where edges have features:
    std::size_t edge_weight = 0;
    std::size_t edge_vector = 0;
    Matrix edge_map;               ///< heads x columns of edges: what those score
    float* edge_scores = nullptr;  ///< of the entries
};

class Gat final : public AttentionNetwork {
public:
    explicit Gat(const NetworkOptions& network_options);

protected:
    [[nodiscard]] std::vector<std::size_t> own_floats(std::size_t l, const sample::Block& block,
                                                      Pass pass) const override;
    void begin_own(std::size_t l, const std::vector<float*>& memory, Pass pass) override;
    [[nodiscard]] std::size_t own_sum_floats(std::size_t l,
                                             const sample::Block& block) const override {
        const std::size_t edges =
            edge_columns() == 0
                ? 0
                : LaneSums::floats(Lanes(block.destinations), heads(l).count, edge_columns());
        return 2 * LaneColumns::floats(Lanes(block.sources), heads(l).width()) + edges;
    }
    void values_made(std::size_t l, Rows rows) override;
    void attend_rows(std::size_t l, Rows rows, const Matrix& sums) override;
    void attend_back(std::size_t l, Rows rows, LaneTurn turn) override;
    void values_back(std::size_t l, Rows rows, LaneTurn turn) override;
    void finish_own(std::size_t l, std::span<float> gradient) override;

private:
    [[nodiscard]] std::size_t edge_columns() const noexcept { return options().edge_inputs; }
    [[nodiscard]] EdgeAdditiveScores edge_scores(std::size_t l) const noexcept {
        return {scores(l), own_[l].edge_scores};
    }
    /// What the features of edges score through their weights and vector.
    [[nodiscard]] ScoreMap edge_map(std::size_t l) const noexcept {
        return {heads(l), edge_columns(), weights_of(own_[l].edge_weight),
                weights_of(own_[l].edge_vector)};
    }
    /// Where the gradient of that is added up.
    [[nodiscard]] LaneSums edge_sums(std::size_t l) noexcept {
        return {
            own_sums(l) + 2 * LaneColumns::floats(Lanes(view(l).block->sources), heads(l).width()),
            Lanes(view(l).block->destinations), heads(l).count, edge_columns()};
    }
    [[nodiscard]] AdditiveScores scores(std::size_t l) const noexcept {
        const GatLayer& own = own_[l];
        return {own.source_scores, own.destination_scores, own.source_sums, own.destination_sums};
    }
    /// Where the gradient of the vector of sources (0) or destinations (1) is added up.
    [[nodiscard]] LaneColumns vector_sums(std::size_t l, std::size_t which) noexcept {
        const Lanes lanes(view(l).block->sources);
        const std::size_t width = heads(l).width();
        return {own_sums(l) + which * LaneColumns::floats(lanes, width), lanes, width};
    }

    std::vector<GatLayer> own_;
    Array<float> of_map_;  ///< gradient of what edges score
};

Gat::Gat(const NetworkOptions& network_options)
    : AttentionNetwork(network_options), own_(layers()) {
    for (std::size_t l = 0; l < layers(); ++l) {
        const Heads all = heads(l);
        // As PyG's GATConv: Glorot-uniform weights and vectors, no bias at first.
        layer(l).weight = add_glorot(l, "weight", all.count * all.columns, layer_inputs(l));
        own_[l].source_vector = add_glorot(l, "att_src", all.count, all.columns);
        own_[l].destination_vector = add_glorot(l, "att_dst", all.count, all.columns);
        if (edge_columns() != 0) {
            own_[l].edge_weight =
                add_glorot(l, "edge.weight", all.count * all.columns, edge_columns());
            own_[l].edge_vector = add_glorot(l, "att_edge", all.count, all.columns);
        }
        layer(l).bias = add_zeroes(l, "bias", layer_outputs(l));
        end_convolution(layer(l).bias);
    }
    seal();
}

std::vector<std::size_t> Gat::own_floats(std::size_t l, const sample::Block& block,
                                         Pass pass) const {
    const Heads all = heads(l);
    const std::size_t of_sources = block.sources * all.count;
    const std::size_t of_destinations = block.destinations * all.count;
    std::vector<std::size_t> floats{2 * all.width(), of_sources, of_destinations};
    if (edge_columns() != 0) {
        floats.push_back(all.count * aligned_columns(edge_columns()));
        floats.push_back(entry_count(block) * all.count);
    }
    if (pass == Pass::train) floats.insert(floats.end(), {of_sources, of_destinations});
    return floats;
}

void Gat::begin_own(std::size_t l, const std::vector<float*>& memory, Pass pass) {
    GatLayer& own = own_[l];
    const Heads all = heads(l);
    own.vectors = memory[0];
    own.source_scores = memory[1];
    own.destination_scores = memory[2];
    pack_heads(own.source_vector, all, own.vectors);
    pack_heads(own.destination_vector, all, own.vectors + all.width());
    std::size_t next = 3;
    if (edge_columns() != 0) {
        own.edge_map = matrix(memory[next++], all.count, edge_columns());
        own.edge_scores = memory[next++];
        edge_map(l).collapse(own.edge_map);
    }
    if (pass == Pass::predict) return;
    own.source_sums = memory[next++];
    own.destination_sums = memory[next];
}

void Gat::attend_rows(std::size_t l, Rows rows, const Matrix& sums) {
    if (edge_columns() == 0) return attend(attention(l), scores(l), rows, sums);
    const sample::Block& block = *view(l).block;
    const std::size_t count = heads(l).count;
    const Rows entries = entries_of(block, rows);
    multiply_transposed(edge_entries(block, edge_columns(), rows), own_[l].edge_map,
                        {own_[l].edge_scores + entries.first * count, entries.count, count, count});
    attend(attention(l), edge_scores(l), rows, sums);
}

void Gat::attend_back(std::size_t l, Rows rows, LaneTurn turn) {
    if (edge_columns() == 0)
        return attend_backward(attention(l), scores(l), layer(l).gradient, rows);
    attend_backward(attention(l), edge_scores(l), layer(l).gradient, rows);
    const sample::Block& block = *view(l).block;
    const std::size_t count = heads(l).count;
    const Rows entries = entries_of(block, rows);
    const ConstMatrix deltas{layer(l).deltas + entries.first * count, entries.count, count, count};
    edge_sums(l).add(turn.lane, turn.first, deltas, edge_entries(block, edge_columns(), rows));
}

void Gat::finish_own(std::size_t l, std::span<float> gradient) {
    const GatLayer& own = own_[l];
    finish_vector(heads(l), vector_sums(l, 0), place(gradient, own.source_vector));
    finish_vector(heads(l), vector_sums(l, 1), place(gradient, own.destination_vector));
    if (edge_columns() == 0) return;
    const std::size_t floats = heads(l).count * edge_columns();
    if (of_map_.size() < floats) of_map_ = Array<float>::uninitialised(floats);
    const LaneSums::Stretch whole{0, edge_columns(), of_map_.data()};
    edge_sums(l).finish(std::span(&whole, 1), nullptr);
    edge_map(l).expand(of_map_.data(), place(gradient, own.edge_weight),
                       place(gradient, own.edge_vector));
}

void Gat::values_made(std::size_t l, Rows rows) {
    const GatLayer& own = own_[l];
    const Heads all = heads(l);
    const std::size_t destinations = view(l).block->destinations;
    const Matrix values = layer(l).values.part(rows.first, rows.count);
    head_products(all, values, own.vectors, own.source_scores + rows.first * all.count);
    if (rows.first >= destinations) return;
    head_products(all, values.part(0, std::min(rows.count, destinations - rows.first)),
                  own.vectors + all.width(), own.destination_scores + rows.first * all.count);
}

void Gat::values_back(std::size_t l, Rows rows, LaneTurn turn) {
    const GatLayer& own = own_[l];
    const Heads all = heads(l);
    const LaneColumns source_vector = vector_sums(l, 0);
    const LaneColumns destination_vector = vector_sums(l, 1);
    if (turn.first) {
        source_vector.clear(turn.lane);
        destination_vector.clear(turn.lane);
    }
    const Matrix through = scratch_rows(Scratch::product, rows.count, all.width());
    gather_attention(attention(l), scores(l), layer(l).readers, layer(l).gradient, rows, through);
    finish_additive(all,
                    {own.vectors, own.vectors + all.width(), source_vector.lane(turn.lane),
                     destination_vector.lane(turn.lane)},
                    through, scores(l), view(l).block->destinations, rows.first,
                    layer(l).values.part(rows.first, rows.count));
}

}  // namespace

std::unique_ptr<Network> make_gat(const NetworkOptions& options) {
    return std::make_unique<Gat>(options);
}

}  // namespace rudder::nn
