// GraphSAGE with means, which may be weighted: each layer one product of [own | mean of
// neighbours], chunk by chunk.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "product_network.hpp"

namespace rudder::nn {

namespace {

class Sage final : public ProductNetwork {
public:
    explicit Sage(const NetworkOptions& network_options);

protected:
    void plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                          WorkspacePlan& memory, Offsets& offsets) const override;
    void begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) override;
    void sum_rows(std::size_t l, Rows rows, const ConstMatrix& table, const Matrix& sums) override {
        const RowNumbers of(rows);
        const sample::Block& block = *view(l).block;
        block.shares.empty() ? mean_of_neighbours(block, table, of.first, of.last, sums)
                             : share_of_neighbours(block, table, of.first, of.last, sums);
    }
    void gather_back(std::size_t l, Rows rows, const Matrix& sums) override {
        if (!view(l).block->shares.empty()) return;  // sum_back multiplies by them
        const RowNumbers of(rows);
        divide_by_neighbours(*view(l).block, of.first, of.last, sums);
    }
    void sum_back(std::size_t l, Rows rows, const ConstMatrix& sums, const ConstMatrix& own,
                  const ActiveRows& active, const Matrix& out) override {
        const RowNumbers of(rows);
        gather_gradient(layer(l).readers, {own, sums, active, shares_[l]}, of.first, of.last, out);
    }

private:
    /// Whether a pass has neighbours that count differently and reads the block backwards.
    [[nodiscard]] bool shares_back(std::size_t l, const sample::Block& block,
                                   Pass pass) const noexcept {
        return pass == Pass::train && !block.shares.empty() && (l > 0 || sparse_input(l));
    }

    std::vector<const float*> shares_;  ///< of the transposed blocks; null: none
};

void Sage::plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                            WorkspacePlan& memory, Offsets& offsets) const {
    ProductNetwork::plan_convolution(l, block, pass, memory, offsets);
    if (!shares_back(l, block, pass)) return;
    offsets.push_back(memory.add<std::uint32_t>(block.edges()));
    offsets.push_back(memory.add<float>(block.edges()));
}

void Sage::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    ProductNetwork::begin_convolution(l, offsets, pass);
    const sample::Block& block = *view(l).block;
    shares_[l] = nullptr;
    if (!shares_back(l, block, pass)) return;
    TransposedBlock readers = layer(l).readers;
    readers.edges = {workspace().at<std::uint32_t>(offsets[offsets.size() - 2]), block.edges()};
    transpose(block, readers);
    auto* const shares = workspace().at<float>(offsets.back());
    for (std::size_t i = 0; i < readers.edges.size(); ++i)
        shares[i] = block.shares[readers.edges[i]];
    shares_[l] = shares;
}

Sage::Sage(const NetworkOptions& network_options)
    : ProductNetwork(network_options), shares_(layers(), nullptr) {
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
