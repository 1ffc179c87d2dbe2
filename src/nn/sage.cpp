// GraphSAGE with means: each layer one product of [own | mean of neighbours], chunk by chunk.
#include <cmath>

#include <fmt/format.h>

#include "product_network.hpp"

namespace rudder::nn {

namespace {

class Sage final : public ProductNetwork {
public:
    explicit Sage(const NetworkOptions& network_options);

protected:
    void sum_rows(std::size_t l, Rows rows, const ConstMatrix& table, const Matrix& sums) override {
        const RowNumbers of(rows);
        mean_of_neighbours(*view(l).block, table, of.first, of.last, sums);
    }
    void gather_back(std::size_t l, Rows rows, const Matrix& sums) override {
        const RowNumbers of(rows);
        divide_by_neighbours(*view(l).block, of.first, of.last, sums);
    }
    void sum_back(std::size_t l, Rows rows, const ConstMatrix& sums, const ConstMatrix& own,
                  const ActiveRows& active, const Matrix& out) override {
        const RowNumbers of(rows);
        gather_gradient(layer(l).readers, {own, sums, active}, of.first, of.last, out);
    }
};

Sage::Sage(const NetworkOptions& network_options) : ProductNetwork(network_options) {
    for (std::size_t l = 0; l < layers(); ++l) {
        // As PyG's SAGEConv: Kaiming-uniform with a = sqrt(5), which is one over the root of the
        // inputs, for the weights and the bias alike.
        const double bound = 1 / std::sqrt(static_cast<double>(layer_inputs(l)));
        add_piece(l, "self.weight", bound);
        add_piece(l, "neigh.weight", bound);
        layer(l).bias = add_parameter(fmt::format("layers.{}.neigh.bias", l),
                                      {static_cast<std::int64_t>(layer_outputs(l))}, bound, false);
        end_convolution(layer(l).bias);
    }
    seal();
}

}  // namespace

std::unique_ptr<Network> make_sage(const NetworkOptions& options) {
    return std::make_unique<Sage>(options);
}

}  // namespace rudder::nn
