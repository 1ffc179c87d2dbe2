// A network as training sees it: flat weights, a gradient per batch, scores.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/function_ref.hpp"
#include "rudder/core/types.hpp"
#include "rudder/nn/matmul.hpp"
#include "rudder/sample/batch.hpp"

namespace rudder::nn {

/// What is learned, and its loss: one class of several (cross-entropy), any of several (binary
/// cross-entropy of each), numbers (mean squared error), which pairs of vertices are joined
/// (LinkLoss).
enum class Objective : std::uint8_t { classes, multilabel, regression, links };

/// What a pair of vertices scores by the rows u and v that the layers give them. dot: the sum of
/// their products. distmult: that with a weight for each column, by relation. network: their
/// products through a hidden layer as wide as they are.
enum class PairScorer : std::uint8_t { dot, distmult, network };

/// What of a pair's rows u and v a scorer's network reads: their products; these and the sums (the
/// same for both orders); or these and both rows.
enum class PairInput : std::uint8_t { products, sums, rows };

/// How joined pairs are told from others. binary: cross-entropy of each pair, the mean over a group
/// (a joined pair and those drawn beside it). softmax: cross-entropy of the joined one among its
/// group. bpr: -log sigmoid of how far it is above each of the others, their mean.
enum class LinkLoss : std::uint8_t { binary, softmax, bpr };

/// That pairs of seeds are scored, not seeds. `outputs` are then those of a pair.
struct PairOptions {
    PairScorer scorer = PairScorer::dot;
    LinkLoss loss = LinkLoss::binary;       ///< of Objective::links
    std::uint64_t width = 64;               ///< of the rows that the last layer gives
    std::uint64_t relations = 1;            ///< kinds of pairs that distmult and network tell apart
    PairInput input = PairInput::products;  ///< of network
};

/// What a network is told of rows that come as their non-zeros alone.
struct SparseInputs {
    std::uint64_t largest = 0;  ///< non-zeros of one row
    double mean = 0;            ///< for plans of memory
};

/// What a network is told of a graph of several types: names, which are in those of parameters, how
/// many of the input columns a type of vertices has, which types of vertices edges join.
struct TypedInputs {
    struct Vertices {
        std::string name;
        std::uint64_t width = 0;
    };
    struct Edges {
        std::string name;
        std::size_t from = 0;
        std::size_t to = 0;
    };
    std::vector<Vertices> vertices;
    std::vector<Edges> edges;
};

struct NetworkOptions {
    std::string model = "sage";
    Objective objective = Objective::classes;
    std::uint64_t inputs = 0;  ///< feature columns
    std::uint64_t hidden = 256;
    std::uint64_t outputs = 0;  ///< classes, or numbers
    int layers = 2;
    double dropout = 0.5;  ///< of hidden layers
    double input_dropout = 0.0;
    std::uint64_t heads = 4;    ///< of attention; they share the hidden columns
    std::string norm = "none";  ///< of hidden layers, before the activation: batch, layer, none
    bool residual = false;      ///< hidden layers add their input, mapped where widths differ
    /// Cross-entropy times the weight of the seed's class; empty: none.
    std::vector<float> class_weights;
    std::uint64_t seed = 0;
    /// Rows are sparse: of models that take such rows (model_takes_sparse). Not saved, since it
    /// follows from the data.
    std::optional<SparseInputs> sparse{};
    /// Passes of training also say how the loss changes with the input rows, which are dense
    /// (Network::set_row_gradients); of models that can (model_teaches_rows). Not saved, since it
    /// follows from the run.
    bool row_gradients = false;
    std::optional<PairOptions> pairs{};
    /// Of models that know types (model_knows_types). Not saved, since it follows from the data.
    std::optional<TypedInputs> types{};
    std::uint64_t bases = 8;  ///< of rgcn: at most as many as there are types of edges
    /// Columns of the rows that edges carry, which blocks then have (Block::features): of models
    /// that read them (edge_models), on graphs of one type. 0: none.
    std::uint64_t edge_inputs = 0;
};

/// The names of all models, for messages and help.
[[nodiscard]] std::vector<std::string_view> model_names();

/// The names of all norms.
[[nodiscard]] std::vector<std::string_view> norm_names();
/// Whether batches of this model must carry degrees; false for names that are unknown.
[[nodiscard]] bool model_wants_degrees(std::string_view model) noexcept;
/// Whether this model can be made for sparse rows; false for names that are unknown.
[[nodiscard]] bool model_takes_sparse(std::string_view model) noexcept;
/// Whether this model can say how its loss changes with its input rows; false for names that are
/// unknown.
[[nodiscard]] bool model_teaches_rows(std::string_view model) noexcept;
/// Whether this model is also one of graphs of several types; false for names that are unknown.
[[nodiscard]] bool model_knows_types(std::string_view model) noexcept;
/// The names of those models.
[[nodiscard]] std::vector<std::string_view> typed_models();
/// Whether it is one of graphs of one type; false for names that are unknown.
[[nodiscard]] bool model_knows_one_type(std::string_view model) noexcept;
/// The names of the models whose means may be weighted.
[[nodiscard]] std::vector<std::string_view> weighted_models();
/// The names of the models that read the features of edges.
[[nodiscard]] std::vector<std::string_view> edge_models();

/// Rows as they enter a layer, one after the other: all columns of each, or of the first layer
/// their non-zeros alone, as SparseEntry says. A view.
class InputRows {
public:
    InputRows() = default;
    // Dense rows are what most of them are.
    template <class Floats>
    requires std::convertible_to<const Floats&, std::span<const float>>
    // NOLINTNEXTLINE(google-explicit-constructor)
    InputRows(const Floats& dense) : memory_(dense) {}
    /// Sparse ones: each takes the memory of so many floats, two for its header and two for each
    /// non-zero of the largest row.
    [[nodiscard]] static InputRows sparse(std::span<const float> memory,
                                          std::size_t row_floats) noexcept {
        InputRows rows;
        rows.memory_ = memory;
        rows.row_floats_ = row_floats;
        return rows;
    }

    [[nodiscard]] bool is_sparse() const noexcept { return row_floats_ != 0; }
    /// Whether these are so many rows of so many columns.
    [[nodiscard]] bool holds(std::size_t rows, std::size_t columns) const noexcept {
        return memory_.size() == rows * (is_sparse() ? row_floats_ : columns);
    }
    [[nodiscard]] std::size_t count(std::size_t columns) const noexcept {
        return memory_.size() / (is_sparse() ? row_floats_ : columns);
    }
    [[nodiscard]] ConstMatrix dense(std::size_t columns) const noexcept {
        return {memory_.data(), count(columns), columns, columns};
    }
    [[nodiscard]] SparseMatrix sparse(std::size_t columns) const noexcept {
        constexpr std::size_t floats = sizeof(SparseEntry) / sizeof(float);
        return {reinterpret_cast<const SparseEntry*>(memory_.data()), count(columns), columns,
                row_floats_ / floats};
    }

    /// All of it, as it lies in memory.
    [[nodiscard]] const float* data() const noexcept { return memory_.data(); }
    [[nodiscard]] std::size_t floats() const noexcept { return memory_.size(); }

private:
    std::span<const float> memory_;
    std::size_t row_floats_ = 0;  ///< 0: dense
};

/// One tensor of weights, a stretch of the flat vector.
struct Parameter {
    std::string name;  ///< "layers.0.self.weight"
    std::vector<std::int64_t> shape;
    std::size_t offset = 0;  ///< in floats
    std::size_t size = 0;
    bool decays = true;   ///< weight decay applies (not to biases)
    bool trained = true;  ///< by the optimiser; running statistics are not
};

/// A stretch of the flat gradient that is reduced as one.
struct Bucket {
    std::size_t offset = 0;
    std::size_t size = 0;
};

/// Pairs of a batch's seeds, by their positions among them.
struct SeedPairs {
    std::span<const LocalId> sources;
    std::span<const LocalId> targets;
    std::span<const std::uint32_t> relations{};  ///< of each; empty: all are of the first
    /// Of Objective::links: pairs come in groups of so many, of which the first is joined.
    std::uint32_t group = 1;

    [[nodiscard]] std::size_t size() const noexcept { return sources.size(); }
};

/// The targets of a batch's seeds, in their order; the one of the network's objective is set.
/// Classes: one per seed. Others: seeds x outputs. Of networks that score pairs: of those.
struct SeedTargets {
    std::span<const std::int32_t> classes;
    std::span<const std::uint8_t> multilabel;
    std::span<const float> regression;
    SeedPairs pairs{};
};

/// What one layer of inference reads: see Network::infer_rows.
struct LayerRows {
    /// Of the block's sources, its destinations first: sources x layer_reads. Sparse where they are
    /// the rows of a sparse input as they are.
    InputRows sources{};
    /// The layer's input rows of the destinations: destinations x layer_inputs.
    InputRows own{};
    /// Of the sources, in the whole graph; empty unless wants_degrees.
    std::span<const std::uint32_t> degrees{};
    /// Where destinations keep what they sum up over their neighbours (see sums_rows): destinations
    /// x layer_reads, written, or read if they are `summed`. Empty: nobody keeps it.
    std::span<float> sums{};
    bool summed = false;  ///< neither sources nor degrees are read, nor the block's edges
};

/// Bytes that a layer of inference takes besides weights and rows: so many for each of these.
struct InferenceBytes {
    std::uint64_t fixed = 0;
    std::uint64_t destination = 0;
    std::uint64_t source = 0;
    std::uint64_t edge = 0;
};

/// What a training pass over one batch gave, besides the gradient.
struct BatchResult {
    float loss = 0;             ///< sum over the seeds of their loss, times the weight
    std::uint64_t correct = 0;  ///< right answers, out of `answers` (regression: 0 of 0)
    /// Seeds; for multilabel seeds x outputs. Of links: pairs that are not joined; right is one
    /// that scores below the joined one of its group.
    std::uint64_t answers = 0;
};

/// What training passes on a device took, in seconds.
struct DeviceTimes {
    double upload = 0;         ///< of rows and blocks; beside other work where they were staged
    double kernels = 0;        ///< from the first kernel of a pass to its last
    double waiting = 0;        ///< of the host for the device
    std::uint64_t staged = 0;  ///< passes whose batch was staged before them

    DeviceTimes& operator+=(const DeviceTimes& other) noexcept {
        upload += other.upload;
        kernels += other.kernels;
        waiting += other.waiting;
        staged += other.staged;
        return *this;
    }
};

/// A model with its weights. All arithmetic is in fixed chunks, each computed by one thread, and
/// all draws are keyed by seed, epoch, step, layer, vertex and column: the bits of a pass depend on
/// weights, batch and rows alone, never on the number of threads. One task uses it at a time.
class Network {
public:
    virtual ~Network() = default;

    /// The weights: one flat vector, aligned, initialised from the seed.
    [[nodiscard]] virtual std::span<float> weights() noexcept = 0;
    [[nodiscard]] virtual std::span<const Parameter> parameters() const noexcept = 0;
    /// Stretches that together cover the flat gradient, in the order a backward pass completes
    /// them.
    [[nodiscard]] virtual std::span<const Bucket> buckets() const noexcept = 0;

    /// Forward, loss and backward. `rows` are the features of batch.vertices, row by row. The loss
    /// of each seed is multiplied by `weight` (one over the step's seeds of all parts). Writes the
    /// flat gradient (all of it, zeroes where the batch has no seeds) and calls `ready` with the
    /// index of each bucket once it is complete, in order; `ready` may post but not wait.
    ///
    /// In the place of running statistics the gradient holds those of this batch times its share of
    /// the step's seeds (`weight` times seeds): summed over the parts like any gradient they are
    /// what absorb_statistics takes.
    virtual BatchResult train(const sample::Batch& batch, const InputRows& rows,
                              const SeedTargets& targets, float weight, std::span<float> gradient,
                              FunctionRef<void(std::size_t)> ready) = 0;
    /// Of networks with NetworkOptions::row_gradients: where the next pass of training writes the
    /// gradient of its rows, which are as many: vertices x inputs. To be called before each pass.
    virtual void set_row_gradients(std::span<float> gradients);
    /// Moves the running statistics towards those in the summed gradient (by a tenth), and sets
    /// these to zero there: call it before the optimiser. Nothing to do for networks that have
    /// none.
    virtual void absorb_statistics(std::span<float> /*gradient*/) {}
    /// Whether batches and blocks must come with degrees in the whole graph.
    [[nodiscard]] virtual bool wants_degrees() const noexcept { return false; }
    /// The scores (before softmax or sigmoid) of the seeds: seeds x outputs. No dropout. Of
    /// networks that score pairs: the seeds' rows, which score_pairs takes.
    virtual void predict(const sample::Batch& batch, const InputRows& rows,
                         std::span<float> scores) = 0;
    /// What pairs of rows that `predict` or the last layer of inference gave score: pairs x
    /// outputs. Only of networks that score pairs (NetworkOptions::pairs).
    virtual void score_pairs(const ConstMatrix& rows, const SeedPairs& pairs,
                             std::span<float> scores);
    /// Layers, and the columns that a layer takes and puts out (the last one's are the scores).
    [[nodiscard]] virtual std::size_t layers() const noexcept = 0;
    [[nodiscard]] virtual std::size_t layer_inputs(std::size_t layer) const noexcept = 0;
    [[nodiscard]] virtual std::size_t layer_outputs(std::size_t layer) const noexcept = 0;
    /// One layer of inference over some destinations, for exact evaluation layer by layer: rows of
    /// the block's sources in (sources x inputs), rows of its destinations out (destinations x
    /// outputs), activated unless it is the last layer. No dropout; running statistics. `degrees`
    /// are those of the sources in the whole graph; empty unless wants_degrees.
    virtual void infer_layer(std::size_t layer, const sample::Block& block,
                             std::span<const std::uint32_t> degrees, const InputRows& sources,
                             std::span<float> out) = 0;
    /// The same in two steps, for inference over the whole graph: what destinations read of a
    /// source is made once, where its row lies, and may have fewer columns than the layer's input.
    /// So many columns; layer_inputs means that they read the input rows as they are.
    [[nodiscard]] virtual std::size_t layer_reads(std::size_t layer) const noexcept {
        return layer_inputs(layer);
    }
    /// Whether what they read is made by map_rows.
    [[nodiscard]] virtual bool maps_rows(std::size_t layer) const noexcept {
        return layer_reads(layer) != layer_inputs(layer);
    }
    /// Makes what destinations read of some rows of a layer's input (rows x layer_inputs): rows x
    /// layer_reads. Only for layers where maps_rows holds.
    virtual void map_rows(std::size_t layer, const InputRows& input, std::span<float> out);
    /// As infer_layer, from what map_rows made of the sources. Bits depend on rows and the order of
    /// neighbours alone; where rows were mapped they are not those of infer_layer.
    virtual void infer_rows(std::size_t layer, const sample::Block& block, const LayerRows& rows,
                            std::span<float> out) {
        infer_layer(layer, block, rows.degrees, rows.sources, out);
    }
    /// Whether a layer sums its input rows over neighbours before weights come in, so that the sums
    /// may be kept as long as the rows stay the same.
    [[nodiscard]] virtual bool sums_rows(std::size_t /*layer*/) const noexcept { return false; }
    /// What infer_rows takes.
    [[nodiscard]] virtual InferenceBytes inference_bytes(std::size_t /*layer*/) const { return {}; }
    /// Memory a training pass over such a batch takes besides weights, gradient and rows, in bytes.
    [[nodiscard]] virtual std::uint64_t activation_bytes(const sample::Batch& batch) const = 0;

    // Of networks that compute on a device (nn/gpu); the others do nothing.
    /// Whoever writes weights, but for the optimiser made with the network, says so.
    virtual void weights_written() noexcept {}
    /// Begins to bring a batch and its rows to where a training pass over it will want them, from
    /// any thread. Both must stay as they are until that pass.
    virtual void stage(const sample::Batch& /*batch*/, const InputRows& /*rows*/) {}
    /// Memory that rows are going to be staged from, and that is about to be freed.
    virtual void rows_begin(std::span<std::byte> /*memory*/) {}
    virtual void rows_end(std::span<std::byte> /*memory*/) noexcept {}
    /// Bytes of the device that training over such batches takes, weights and all, where so many
    /// are staged at once.
    [[nodiscard]] virtual std::uint64_t device_bytes(const sample::Batch& /*batch*/,
                                                     std::uint64_t /*staged*/) const {
        return 0;
    }
    /// Since it was asked last.
    [[nodiscard]] virtual DeviceTimes take_device_times() { return {}; }
};

/// Makes a network. An unknown model is a usage Error that lists the known ones.
[[nodiscard]] std::unique_ptr<Network> make_network(const NetworkOptions& options);

/// Right answers among scores of seeds (same rule as BatchResult), for evaluation.
[[nodiscard]] BatchResult count_correct(Objective objective, std::uint64_t outputs,
                                        std::span<const float> scores, const SeedTargets& targets);

}  // namespace rudder::nn
