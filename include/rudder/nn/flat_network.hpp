// What all models share: flat weights with their parameters, buckets, and the memory of a pass.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/nn/workspace.hpp"

namespace rudder::nn {

/// The base of models: a model adds its parameters layer by layer in its constructor, then seals.
class FlatNetwork : public Network {
public:
    [[nodiscard]] std::span<float> weights() noexcept override { return weights_.span(); }
    [[nodiscard]] std::span<const Parameter> parameters() const noexcept override {
        return parameters_;
    }
    [[nodiscard]] std::span<const Bucket> buckets() const noexcept override { return buckets_; }
    [[nodiscard]] std::size_t layers() const noexcept override {
        return static_cast<std::size_t>(options_.layers);
    }
    [[nodiscard]] std::size_t layer_inputs(std::size_t layer) const noexcept override;
    [[nodiscard]] std::size_t layer_outputs(std::size_t layer) const noexcept override;
    /// Memory held for passes, in bytes.
    [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_.bytes(); }

protected:
    explicit FlatNetwork(NetworkOptions options);

    /// Adds a parameter, which is to begin uniform in [-bound, bound); gives its index.
    std::size_t add_parameter(std::string name, std::vector<std::int64_t> shape, double bound,
                              bool decays);
    /// Adds one that begins at `value` everywhere and does not decay.
    std::size_t add_constant(std::string name, std::vector<std::int64_t> shape, float value,
                             bool trained = true);
    /// Ends a layer: its parameters become one bucket.
    void end_layer();
    /// Allocates the weights and draws them from the seed: element e of parameter p is word e % 4
    /// of the stream's block (e / 4, 0), the stream's layer being p.
    void seal();

    [[nodiscard]] const NetworkOptions& options() const noexcept { return options_; }
    [[nodiscard]] std::span<const float> weights_of(std::size_t parameter) const noexcept;
    [[nodiscard]] std::span<float> weights_of(std::size_t parameter) noexcept;
    [[nodiscard]] Workspace& workspace() noexcept { return workspace_; }

private:
    NetworkOptions options_;
    std::vector<Parameter> parameters_;
    std::vector<double> bounds_;
    std::vector<float> begins_;    ///< in the middle of the bounds
    std::vector<Bucket> buckets_;  ///< last layer first: the order of a backward pass
    Array<float> weights_;
    std::size_t layer_begin_ = 0;
    std::size_t size_ = 0;
    Workspace workspace_;
};

/// GraphSAGE with means: out = own W_self' + mean of neighbours W_neigh' + bias; rectifier and
/// dropout between layers.
[[nodiscard]] std::unique_ptr<Network> make_sage(const NetworkOptions& options);
/// Graph convolution with self loops, symmetrically normalised by the degrees of the whole graph;
/// the sum over sampled neighbours is scaled up to all of them, so that its mean is that of all,
/// and with all of them it is exact. Rectifier and dropout between layers.
[[nodiscard]] std::unique_ptr<Network> make_gcn(const NetworkOptions& options);
/// Graph attention with self loops: heads side by side in hidden layers, their mean in the last
/// one; exponential linear units and dropout between layers.
[[nodiscard]] std::unique_ptr<Network> make_gat(const NetworkOptions& options);
/// GraphSAGE over a graph of several types: weights for every type of vertices and of edges.
[[nodiscard]] std::unique_ptr<Network> make_typed_sage(const NetworkOptions& options);
/// Relational graph convolution: weights of types of edges are mixtures of bases.
[[nodiscard]] std::unique_ptr<Network> make_rgcn(const NetworkOptions& options);
/// Graph attention over a graph of several types: each type of edges attends for itself.
[[nodiscard]] std::unique_ptr<Network> make_typed_gat(const NetworkOptions& options);
/// Graph attention with the attention's vector after its nonlinearity, and a map of its own for
/// readers.
[[nodiscard]] std::unique_ptr<Network> make_gatv2(const NetworkOptions& options);

}  // namespace rudder::nn
