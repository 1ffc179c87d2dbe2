// Graph attention by type of edges: each attends for itself, and a vertex adds up what they give.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/nn/layered_network.hpp"

#include "attention.hpp"
#include "typed_block.hpp"

namespace rudder::nn {

/// out = own row times the weights of its type + for each type of edges that leads to it what it
/// attends to among neighbours of that type + bias. Heads lie side by side in hidden layers, the
/// last one takes their mean; exponential linear units and dropout between layers. Sources and
/// destinations are mapped by weights of their own; no vertex attends to itself.
class TypedGat final : public LayeredNetwork {
public:
    explicit TypedGat(const NetworkOptions& network_options);

protected:
    void plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                          WorkspacePlan& memory, Offsets& offsets) const override;
    [[nodiscard]] std::size_t sum_floats(std::size_t l, const sample::Block& block) const override;
    void begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) override;
    void prepare(std::size_t l) override;
    void forward_rows(std::size_t l, Rows rows, Pass pass) override;
    void backward_rows(std::size_t l, Rows rows, LaneTurn turn) override;
    void finish_backward(std::size_t l, std::span<float> gradient) override;
    void source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                         const Matrix& out) override;

private:
    /// What own rows of a type of vertices are multiplied by.
    struct Own {
        std::size_t weight = 0;
        Matrix weights;  ///< outputs x inputs, packed
        Matrix back;     ///< gradient of the destinations' input rows, where it is wanted
    };
    /// A type of edges: its parameters, and where its matrices of the present pass lie.
    struct Relation {
        std::size_t weight = 0;
        std::size_t vector = 0;
        std::size_t destination_weight = 0;
        std::size_t destination_vector = 0;
        Matrix weights;           ///< width x inputs of sources, packed
        float* packed = nullptr;  ///< the vector
        Matrix map;               ///< heads x inputs of destinations: what those score
        Matrix values;            ///< read sources x width; later their gradient
        float* alphas = nullptr;  ///< edges x heads, as all that follow of edges
        float* source_scores = nullptr;
        Matrix own_scores;  ///< destinations x heads
        float* deltas = nullptr;
        float* source_sums = nullptr;
        Matrix own_sums;  ///< destinations x heads
        Matrix gradient;  ///< of what it gave: destinations x width
    };
    struct Layer {
        std::vector<Own> own;             ///< by type of vertices
        std::vector<Relation> relations;  ///< by type of edges
        TypedBlock block;
        std::size_t bias = 0;
    };
    /// What a type of edges has of a block, or at most.
    struct Extent {
        std::size_t sources;
        std::size_t destinations;
        std::size_t edges;
    };

    [[nodiscard]] const TypedInputs& types() const noexcept { return *options().types; }
    [[nodiscard]] Heads heads(std::size_t l) const noexcept {
        const std::size_t count = options().heads;
        return {count, last(l) ? layer_outputs(l) : options().hidden / count};
    }
    [[nodiscard]] HeadsBecome become(std::size_t l) const noexcept {
        return last(l) ? HeadsBecome::mean : HeadsBecome::columns;
    }
    /// Columns that a type of vertices has in a layer.
    [[nodiscard]] std::size_t width(std::size_t l, std::size_t type) const noexcept {
        return l == 0 ? types().vertices[type].width : layer_inputs(l);
    }
    [[nodiscard]] std::vector<Extent> extents(const sample::Block& block) const;
    [[nodiscard]] std::vector<std::size_t> destinations(const sample::Block& block) const;
    std::size_t add_glorot(const std::string& name, std::size_t rows, std::size_t columns);
    void add_relation(std::size_t l, std::size_t e);
    void begin_relation(std::size_t l, std::size_t e, float* const* memory, Pass pass);
    [[nodiscard]] ScoreMap score_map(std::size_t l, std::size_t e) const noexcept;
    [[nodiscard]] Attention attention(std::size_t l, std::size_t e) const noexcept;
    [[nodiscard]] static RelationScores scores(const Relation& of) noexcept {
        return {{of.source_scores, of.own_scores.data, of.source_sums, of.own_sums.data}};
    }
    [[nodiscard]] static Matrix input_at(const ConstMatrix& input,
                                         std::span<const std::uint32_t> positions,
                                         std::size_t columns);
    /// Input rows of some destinations of a type, side by side.
    [[nodiscard]] Matrix own_rows(std::size_t l, std::size_t type, TypedBlock::Stretch of) const {
        return input_at(view(l).input,
                        layers_[l].block.destinations(type).subspan(of.first, of.count),
                        width(l, type));
    }
    /// Input rows of some sources that are read along a type of edges.
    [[nodiscard]] Matrix source_rows(std::size_t l, std::size_t e, Rows rows) const {
        return input_at(
            view(l).input,
            std::span(layers_[l].block.along(e).sources).subspan(rows.first, rows.count),
            width(l, types().edges[e].from));
    }
    /// Where gradients are added up: over the destinations, of own weights, of what destinations
    /// score and of the bias; then, for one type of edges after the other, over its sources.
    struct Sums {
        std::vector<LaneSums> own;
        std::vector<LaneSums> maps;
        LaneColumns bias;
    };
    [[nodiscard]] Sums lane_sums(std::size_t l) noexcept;
    [[nodiscard]] std::size_t destination_floats(std::size_t l, std::size_t rows) const noexcept;
    void finish_relation(std::size_t l, std::size_t e, std::span<float> gradient);

    std::vector<Layer> layers_;
    Array<float> of_map_;  ///< gradient of what destinations score
};

}  // namespace rudder::nn
