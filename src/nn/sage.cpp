// GraphSAGE with means, which may be weighted: each layer one product of [own | mean of
// neighbours], chunk by chunk, and where edges have features one of their means.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "edge_rows.hpp"
#include "product_network.hpp"
#include "scratch.hpp"

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
    void add_more(std::size_t l, Rows rows) override;
    void more_back(std::size_t l, Rows rows, LaneTurn turn) override;
    void finish_more(std::size_t l, std::span<float> gradient) override;
    [[nodiscard]] std::size_t more_floats(std::size_t l, std::size_t destinations) const override {
        if (edge_columns() == 0) return 0;
        return LaneSums::floats(Lanes(destinations), layer_outputs(l), edge_columns());
    }

private:
    /// Whether a pass has neighbours that count differently and reads the block backwards.
    [[nodiscard]] bool shares_back(std::size_t l, const sample::Block& block,
                                   Pass pass) const noexcept {
        return pass == Pass::train && !block.shares.empty() && (goes_back(l) || sparse_input(l));
    }

    [[nodiscard]] std::size_t edge_columns() const noexcept { return options().edge_inputs; }
    [[nodiscard]] LaneSums edge_sums(std::size_t l) noexcept {
        return {more_sums(l), Lanes(view(l).out.rows), layer_outputs(l), edge_columns()};
    }

    /// What the means of the features of edges are multiplied by.
    struct EdgeWeights {
        std::size_t parameter = 0;
        Matrix packed;  ///< outputs x columns
    };

    std::vector<const float*> shares_;  ///< of the transposed blocks; null: none
    std::vector<EdgeWeights> edges_;    ///< by layer, where edges have features
};

void Sage::plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                            WorkspacePlan& memory, Offsets& offsets) const {
    ProductNetwork::plan_convolution(l, block, pass, memory, offsets);
    if (edge_columns() != 0)
        offsets.push_back(memory.add<float>(layer_outputs(l) * aligned_columns(edge_columns())));
    if (!shares_back(l, block, pass)) return;
    offsets.push_back(memory.add<std::uint32_t>(block.edges()));
    offsets.push_back(memory.add<float>(block.edges()));
}

void Sage::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    ProductNetwork::begin_convolution(l, offsets, pass);
    const sample::Block& block = *view(l).block;
    shares_[l] = nullptr;
    const bool back = shares_back(l, block, pass);
    if (edge_columns() != 0) {
        const std::size_t place = offsets.size() - (back ? 3 : 1);
        edges_[l].packed = {workspace().at<float>(offsets[place]), layer_outputs(l), edge_columns(),
                            aligned_columns(edge_columns())};
        pack(edges_[l].parameter, edges_[l].packed);
    }
    if (!back) return;
    TransposedBlock readers = layer(l).readers;
    readers.edges = {workspace().at<std::uint32_t>(offsets[offsets.size() - 2]), block.edges()};
    transpose(block, readers);
    auto* const shares = workspace().at<float>(offsets.back());
    for (std::size_t i = 0; i < readers.edges.size(); ++i)
        shares[i] = block.shares[readers.edges[i]];
    shares_[l] = shares;
}

void Sage::add_more(std::size_t l, Rows rows) {
    if (edge_columns() == 0) return;
    const Matrix out = view(l).out.part(rows.first, rows.count);
    const Matrix product = scratch_rows(Scratch::product, rows.count, out.columns);
    multiply_transposed(edge_means(*view(l).block, edge_columns(), rows), edges_[l].packed,
                        product);
    add_rows(out, product);
}

void Sage::more_back(std::size_t l, Rows rows, LaneTurn turn) {
    if (edge_columns() == 0) return;
    edge_sums(l).add(turn.lane, turn.first, view(l).out.part(rows.first, rows.count),
                     edge_means(*view(l).block, edge_columns(), rows));
}

void Sage::finish_more(std::size_t l, std::span<float> gradient) {
    if (edge_columns() == 0) return;
    const LaneSums::Stretch whole{0, edge_columns(), place(gradient, edges_[l].parameter)};
    edge_sums(l).finish(std::span(&whole, 1), nullptr);
}

Sage::Sage(const NetworkOptions& network_options)
    : ProductNetwork(network_options), shares_(layers(), nullptr), edges_(layers()) {
    for (std::size_t l = 0; l < layers(); ++l) {
        // As PyG's SAGEConv: Kaiming-uniform with a = sqrt(5), which is one over the root of the
        // inputs, for the weights and the bias alike.
        const double bound = 1 / std::sqrt(static_cast<double>(layer_inputs(l)));
        add_piece(l, "self.weight", bound);
        add_piece(l, "neigh.weight", bound);
        if (edge_columns() != 0) {
            edges_[l].parameter =
                add_parameter(fmt::format("layers.{}.edge.weight", l),
                              {static_cast<std::int64_t>(layer_outputs(l)),
                               static_cast<std::int64_t>(edge_columns())},
                              1 / std::sqrt(static_cast<double>(edge_columns())), true);
        }
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
