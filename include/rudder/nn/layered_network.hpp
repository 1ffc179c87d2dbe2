// What all models share of a pass: layer by layer a convolution, then norm, residual, activation
// and dropout; loss; and all of it backwards.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rudder/core/parallel.hpp"
#include "rudder/nn/activation.hpp"
#include "rudder/nn/aggregate.hpp"
#include "rudder/nn/flat_network.hpp"
#include "rudder/nn/linear.hpp"
#include "rudder/nn/loss.hpp"
#include "rudder/nn/norm.hpp"

namespace rudder::nn {

class PairHead;
class SparseColumns;

enum class Pass : bool { predict, train };

/// The rows of a layer that one call works on.
struct Rows {
    std::size_t first;
    std::size_t count;
};

/// Where the gradient of some rows is added up: a lane, and whether this is its first call.
struct LaneTurn {
    std::size_t lane;
    bool first;
};

/// A network of convolutions, which a model provides: what a layer computes of its block before the
/// norm. Matrices of a pass lie in the workspace; a model says what it needs and is told where it
/// is.
class LayeredNetwork : public FlatNetwork {
public:
    ~LayeredNetwork() override;
    BatchResult train(const sample::Batch& batch, const InputRows& rows, const SeedTargets& targets,
                      float weight, std::span<float> gradient,
                      FunctionRef<void(std::size_t)> ready) final;
    void predict(const sample::Batch& batch, const InputRows& rows, std::span<float> scores) final;
    void score_pairs(const ConstMatrix& rows, const SeedPairs& pairs,
                     std::span<float> scores) final;
    void infer_layer(std::size_t index, const sample::Block& block,
                     std::span<const std::uint32_t> degrees, const InputRows& sources,
                     std::span<float> out) final;
    void infer_rows(std::size_t index, const sample::Block& block, const LayerRows& rows,
                    std::span<float> out) final;
    [[nodiscard]] InferenceBytes inference_bytes(std::size_t index) const final;
    void absorb_statistics(std::span<float> gradient) final;
    void set_row_gradients(std::span<float> gradients) final { row_gradients_ = gradients; }
    [[nodiscard]] std::uint64_t activation_bytes(const sample::Batch& batch) const final;

protected:
    LayeredNetwork(const NetworkOptions& options, Activation activation);

    /// To be called for each layer in turn by the model's constructor, after its parameters: adds
    /// those of norm and residual. `bias` is the parameter that is added to what it computes.
    void end_convolution(std::size_t bias);

    /// Offsets in the workspace, in the model's own order.
    using Offsets = std::vector<std::size_t>;
    /// A layer in the present pass.
    struct View {
        const sample::Block* block = nullptr;
        ConstMatrix input;      ///< of the sources; there once the layer's turn has come
        SparseMatrix sparse{};  ///< the same where sparse_input holds, instead of `input`
        /// Of inference alone: what map_rows made of the sources (`input` is then of destinations
        /// only), and the destinations' sums, to be written or, where `summed`, read.
        ConstMatrix mapped{};
        Matrix sums{};
        bool summed = false;
        std::span<const std::uint32_t> degrees;  ///< of the sources, where wanted
        Matrix out;  ///< of the destinations; later the gradient of what the convolution gave
    };
    [[nodiscard]] const View& view(std::size_t layer) const noexcept { return layers_[layer].view; }

    /// Whether a layer's input is sparse: the first one's, of models that take such rows.
    [[nodiscard]] bool sparse_input(std::size_t layer) const noexcept {
        return layer == 0 && options().sparse.has_value();
    }

    /// Whether source_gradient is called for a layer: of the first one where its input rows have
    /// gradients.
    [[nodiscard]] bool goes_back(std::size_t layer) const noexcept {
        return layer > 0 || options().row_gradients;
    }

    // ---- what a model provides ----------------------------------------------------------------

    /// Lays out its matrices of a layer.
    virtual void plan_convolution(std::size_t layer, const sample::Block& block, Pass pass,
                                  WorkspacePlan& memory, Offsets& offsets) const = 0;
    /// Floats that adding up its gradients takes; layers share them.
    [[nodiscard]] virtual std::size_t sum_floats(std::size_t layer,
                                                 const sample::Block& block) const = 0;
    /// Sets its matrices; the layers' inputs are not there yet.
    virtual void begin_convolution(std::size_t layer, const Offsets& offsets, Pass pass) = 0;
    /// The input is there: computes what all destinations need.
    virtual void prepare(std::size_t /*layer*/) {}
    /// Writes rows of `out`, without bias. On many threads, as are all functions of rows.
    virtual void forward_rows(std::size_t layer, Rows rows, Pass pass) = 0;
    /// Rows of `out` are gradients now: adds those of parameters to the lane and keeps what
    /// source_gradient will need.
    virtual void backward_rows(std::size_t layer, Rows rows, LaneTurn turn) = 0;
    /// After all rows: writes the parameters' gradients.
    virtual void finish_backward(std::size_t layer, std::span<float> gradient) = 0;
    /// The gradient of rows of the sources, as far as it comes through the convolution. Where
    /// `active` is set, the rectifier is undone on the way; `out` may then be the active rows.
    virtual void source_gradient(std::size_t layer, Rows rows, const ActiveRows& active,
                                 const Matrix& out) = 0;

    /// For backward_rows and finish_backward.
    [[nodiscard]] float* sums() noexcept { return sums_; }
    /// Of a sparse input: weights = transpose of `gradient` times the input's first rows, as many
    /// as it has; `groups` as of LaneSums. For finish_backward.
    void sparse_gradient(const ConstMatrix& gradient, LaneSums::Groups groups, float* weights);
    /// Where a sparse input's weights lie, inputs x outputs (those of groups filled up): copies a
    /// parameter there.
    void pack_transposed(std::size_t parameter, LaneSums::Groups groups, const Matrix& out) const;
    [[nodiscard]] float* place(std::span<float> gradient, std::size_t parameter) const noexcept {
        return gradient.data() + parameters()[parameter].offset;
    }
    [[nodiscard]] bool last(std::size_t layer) const noexcept { return layer + 1 == layers(); }
    /// Copies a parameter of `rows` x `columns` into an aligned matrix.
    void pack(std::size_t parameter, const Matrix& out) const noexcept;

private:
    /// Norm and residual of a layer, and what the present pass has of them.
    struct Layer {
        std::size_t bias = 0;
        std::size_t gain = 0;  ///< of the norm
        std::size_t shift = 0;
        std::size_t mean = 0;      ///< running
        std::size_t variance = 0;  ///< running
        std::size_t map = 0;       ///< of the residual
        bool mapped = false;
        View view;
        Matrix normal;             ///< normalised rows, before gain and shift
        float* spreads = nullptr;  ///< by row or column
        float* columns = nullptr;  ///< means of columns: two stretches
        Matrix map_weights;
        /// Gradient of the destinations' inputs through the residual; of a sparse input, of what
        /// its map gave.
        Matrix skip;
    };
    struct LayerPlace {
        std::size_t out = 0;
        std::size_t normal = 0;
        std::size_t spreads = 0;
        std::size_t columns = 0;
        std::size_t map_weights = 0;
        std::size_t skip = 0;
        Offsets convolution;
    };
    struct PassPlan {
        WorkspacePlan memory;
        std::vector<LayerPlace> layers;
        std::size_t input = 0;   ///< of the input after dropout
        std::size_t sums = 0;    ///< of the gradients' lanes
        std::size_t extras = 0;  ///< of norm and residual
        std::size_t losses = 0;
    };

    /// Where the output of a layer lies: in the workspace, or elsewhere.
    enum class OutRows : bool { planned, elsewhere };

    [[nodiscard]] bool normed(std::size_t layer) const noexcept {
        return norm_ != Norm::none && !last(layer);
    }
    [[nodiscard]] bool residual(std::size_t layer) const noexcept {
        return options().residual && !last(layer);
    }
    /// Whether bias, rectifier and dropout are one step.
    [[nodiscard]] bool plain() const noexcept {
        return norm_ == Norm::none && !options().residual && activation_ == Activation::rectifier;
    }
    void check(const sample::Batch& batch, const InputRows& rows) const;
    void check_edges(const sample::Block& block) const;
    void set_input(View& view, const InputRows& rows, std::size_t layer) const;
    [[nodiscard]] std::size_t extra_floats(std::size_t layer, const sample::Block& block) const;
    [[nodiscard]] LayerPlace plan_layer(std::size_t layer, const sample::Block& block, Pass pass,
                                        WorkspacePlan& memory, OutRows out) const;
    /// Whether rows of the layer's output may be written where they go, one right after the other.
    [[nodiscard]] bool writes_in_place(std::size_t layer) const noexcept;
    void infer(std::size_t index, const View& given, std::span<float> out);
    [[nodiscard]] PassPlan plan(const sample::Batch& batch, Pass pass) const;
    void begin_layer(std::size_t index, const sample::Block& block,
                     std::span<const std::uint32_t> degrees, const LayerPlace& place, Pass pass);
    PassPlan begin(const sample::Batch& batch, Pass pass);
    [[nodiscard]] Dropout dropout_before(std::size_t layer, const sample::BatchKey& key,
                                         Pass pass) const;

    void forward(const sample::Batch& batch, const InputRows& rows, const PassPlan& places,
                 Pass pass);
    void drop_input(const sample::Batch& batch, const Dropout& dropout, const PassPlan& places);
    void forward_layer(std::size_t index, const Dropout& dropout,
                       std::span<const VertexId> vertices, Pass pass);
    void measure_columns(std::size_t index);
    void finish_rows(std::size_t layer, Rows rows, const Dropout& dropout,
                     std::span<const VertexId> vertices, Pass pass);
    void add_bias(std::size_t layer, Rows rows);
    void add_residual(std::size_t index, Rows rows);
    void norm_rows(std::size_t index, Rows rows, Pass pass);

    LossSums loss(const SeedTargets& targets, float weight, const PassPlan& places,
                  std::span<float> gradient);
    /// Weights of the scorer of pairs, after those of all layers; none: it has none.
    struct PairParameters {
        std::optional<std::size_t> relation;
        std::optional<std::size_t> hidden;  ///< then its bias, the output's weights and bias
        [[nodiscard]] bool any() const noexcept { return relation || hidden; }
    };
    void add_pair_parameters();
    LossSums pair_loss(const SeedTargets& targets, float weight, std::span<float> gradient);
    /// Where gradients of norm and residual are added up.
    struct ExtraSums {
        LaneColumns products;  ///< gradient times normalised rows
        LaneColumns shifts;
        LaneSums map;
    };
    [[nodiscard]] ExtraSums extra_sums(std::size_t layer, const Lanes& lanes) const;
    void backward(std::size_t index, const sample::BatchKey& key, std::span<float> gradient);
    void backward_to_norm(std::size_t index, Rows rows, LaneTurn turn, const ExtraSums& sums,
                          float scale);
    void finish_norm(std::size_t index, const ExtraSums& sums, std::span<float> gradient);
    void undo_rows(std::size_t index, Rows rows, float scale);
    void undo_norm(std::size_t index, Rows rows);
    void residual_rows(std::size_t index, Rows rows, LaneTurn turn, const LaneSums& map);
    void write_statistics(float share, std::span<float> gradient) const;
    void give_row_gradients(const sample::Batch& batch);

    Activation activation_;
    Norm norm_;
    std::vector<Layer> layers_;
    float* sums_ = nullptr;
    float* extras_ = nullptr;
    std::span<float> row_gradients_;          ///< of the next pass
    std::unique_ptr<SparseColumns> columns_;  ///< of a sparse input in training
    std::unique_ptr<PairHead> pairs_;         ///< of networks that score pairs
    PairParameters pair_parameters_;
};

}  // namespace rudder::nn
