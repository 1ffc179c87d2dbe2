// GraphSAGE by type of edges, and relational graph convolution with bases.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "typed_network.hpp"

namespace rudder::nn {

namespace {

/// As PyG's: one over the root of the inputs.
double sage_bound(std::size_t width) noexcept {
    return 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(1, width)));
}

/// Weights of their own for every type of vertices and every type of edges.
class TypedSage final : public TypedNetwork {
public:
    explicit TypedSage(const NetworkOptions& network_options) : TypedNetwork(network_options) {
        for (std::size_t l = 0; l < layers(); ++l) {
            std::vector<std::size_t>& own = weights_.emplace_back();
            for (std::size_t p = 0; p < pieces(); ++p) {
                const std::size_t width = piece(l, p).width;
                own.push_back(add_parameter(
                    name_of(l, p),
                    {static_cast<std::int64_t>(layer_outputs(l)), static_cast<std::int64_t>(width)},
                    sage_bound(width), true));
            }
            end_typed_layer(sage_bound(layer_inputs(l)));
        }
        seal();
    }

protected:
    void write_weights(std::size_t l, std::size_t p, const Matrix& out) override {
        pack(weights_[l][p], out);
    }
    void take_gradients(std::size_t l, std::span<const ConstMatrix> made,
                        std::span<float> gradient) override {
        for (std::size_t p = 0; p < made.size(); ++p) {
            std::copy_n(made[p].data, made[p].rows * made[p].columns,
                        place(gradient, weights_[l][p]));
        }
    }

private:
    [[nodiscard]] std::string name_of(std::size_t l, std::size_t p) const {
        const std::size_t of_vertices = types().vertices.size();
        if (p < of_vertices)
            return fmt::format("layers.{}.self.{}.weight", l, types().vertices[p].name);
        return fmt::format("layers.{}.edges.{}.weight", l, types().edges[p - of_vertices].name);
    }

    std::vector<std::vector<std::size_t>> weights_;  ///< by layer and piece
};

/// One root for all vertices; the weights of a type of edges are a mixture of bases that all share
/// (Schlichtkrull and others, ESWC 2018). Types with fewer columns use the first ones of both.
class RelationalConvolution final : public TypedNetwork {
public:
    explicit RelationalConvolution(const NetworkOptions& network_options)
        : TypedNetwork(network_options) {
        const std::size_t edges = types().edges.size();
        for (std::size_t l = 0; l < layers(); ++l) {
            const auto in = static_cast<std::int64_t>(layer_inputs(l));
            const auto out = static_cast<std::int64_t>(layer_outputs(l));
            // As PyG's: Glorot.
            const double bound = std::sqrt(6.0 / static_cast<double>(in + out));
            Parameters own;
            own.root =
                add_parameter(fmt::format("layers.{}.root.weight", l), {out, in}, bound, true);
            for (std::size_t b = 0; b < bases(); ++b) {
                own.bases.push_back(add_parameter(fmt::format("layers.{}.bases.{}.weight", l, b),
                                                  {out, in}, bound, true));
            }
            const double mixing = std::sqrt(6.0 / static_cast<double>(edges + bases()));
            own.mixture = add_parameter(
                fmt::format("layers.{}.mixture", l),
                {static_cast<std::int64_t>(edges), static_cast<std::int64_t>(bases())}, mixing,
                true);
            parameters_of_.push_back(std::move(own));
            end_typed_layer(sage_bound(layer_inputs(l)));
        }
        seal();
    }

protected:
    void write_weights(std::size_t l, std::size_t p, const Matrix& out) override {
        const Parameters& own = parameters_of_[l];
        const std::size_t of_vertices = types().vertices.size();
        const std::size_t in = layer_inputs(l);
        if (p < of_vertices) {
            const float* const root = std::as_const(*this).weights_of(own.root).data();
            for (std::size_t o = 0; o < out.rows; ++o)
                std::copy_n(root + o * in, out.columns, out.row(o));
            return;
        }
        const auto mixture = std::as_const(*this)
                                 .weights_of(own.mixture)
                                 .subspan((p - of_vertices) * bases(), bases());
        for (std::size_t o = 0; o < out.rows; ++o) {
            float* const row = out.row(o);
            std::fill_n(row, out.columns, 0.F);
            for (std::size_t b = 0; b < bases(); ++b) {
                const float* const base =
                    std::as_const(*this).weights_of(own.bases[b]).data() + o * in;
                for (std::size_t c = 0; c < out.columns; ++c)
                    row[c] += mixture[b] * base[c];
            }
        }
    }

    void take_gradients(std::size_t l, std::span<const ConstMatrix> made,
                        std::span<float> gradient) override {
        const Parameters& own = parameters_of_[l];
        const std::size_t of_vertices = types().vertices.size();
        const std::size_t size = layer_inputs(l) * layer_outputs(l);
        float* const root = place(gradient, own.root);
        std::fill_n(root, size, 0.F);
        for (std::size_t t = 0; t < of_vertices; ++t)
            add(made[t], 1, l, root);
        for (std::size_t b = 0; b < bases(); ++b)
            std::fill_n(place(gradient, own.bases[b]), size, 0.F);
        float* const mixture = place(gradient, own.mixture);
        const auto mixed = std::as_const(*this).weights_of(own.mixture);
        for (std::size_t e = 0; e < types().edges.size(); ++e) {
            const ConstMatrix& edges = made[of_vertices + e];
            for (std::size_t b = 0; b < bases(); ++b) {
                const std::size_t at = e * bases() + b;
                add(edges, mixed[at], l, place(gradient, own.bases[b]));
                mixture[at] =
                    product(edges, std::as_const(*this).weights_of(own.bases[b]).data(), l);
            }
        }
    }

private:
    struct Parameters {
        std::size_t root = 0;
        std::vector<std::size_t> bases;
        std::size_t mixture = 0;  ///< types of edges x bases
    };

    /// No more than there are types of edges to tell apart.
    [[nodiscard]] std::size_t bases() const noexcept {
        return std::min<std::size_t>(options().bases, types().edges.size());
    }
    /// to += factor times the gradient of the first columns.
    void add(const ConstMatrix& made, float factor, std::size_t l, float* to) const noexcept {
        for (std::size_t o = 0; o < made.rows; ++o) {
            for (std::size_t c = 0; c < made.columns; ++c)
                to[o * layer_inputs(l) + c] += factor * made.row(o)[c];
        }
    }
    [[nodiscard]] float product(const ConstMatrix& made, const float* base,
                                std::size_t l) const noexcept {
        double sum = 0;
        for (std::size_t o = 0; o < made.rows; ++o) {
            for (std::size_t c = 0; c < made.columns; ++c) {
                sum += static_cast<double>(made.row(o)[c]) *
                       static_cast<double>(base[o * layer_inputs(l) + c]);
            }
        }
        return static_cast<float>(sum);
    }

    std::vector<Parameters> parameters_of_;
};

}  // namespace

std::unique_ptr<Network> make_typed_sage(const NetworkOptions& options) {
    return std::make_unique<TypedSage>(options);
}

std::unique_ptr<Network> make_rgcn(const NetworkOptions& options) {
    return std::make_unique<RelationalConvolution>(options);
}

}  // namespace rudder::nn
